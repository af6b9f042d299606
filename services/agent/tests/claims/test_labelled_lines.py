"""Labelled sentences the network learns from: how a line is read, what is held back, several deeds in one."""

from pathlib import Path

import pytest

from agent.claim_training import rows, sentences
from agent.claim_training.sentences import Labelled, cases_of, read_sentences


def _read(tmp_path: Path, line: str) -> Labelled:
    (tmp_path / "en.tsv").write_text(line + "\n", encoding="utf-8")
    (found,) = read_sentences(tmp_path)
    return found


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ("none", ()),
        ("refund:done", (("refund", "done"),)),
        ("where:failed", (("address_change/account_change", "failed"),)),
        ("thing:pending", (("action", "pending"),)),
        ("other:future", (("unread", "done"),)),
        ("status:!delivered", (("order_status:delivered!", "done"),)),
        ("status:will-arrive", (("order_status:delivered", "future"),)),
        ("label:done+handoff:absent", (("return_label", "done"), ("handoff", "absent"))),
    ],
)
def test_a_label_names_what_is_spoken_of_and_how(
    written: str, labels: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    assert _read(tmp_path, f"{written}\tSome words.") == Labelled("en", "Some words.", labels)


@pytest.mark.parametrize(
    "line",
    [
        "refund:done Some words.", "refund:done\t", "refund:paid\tSome words.", "status:will-vanish\tSome words.",
        "gift:done\tSome words.", "other:pending\tSome words.", "refund:done\tSome\twords.",
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_refused_by_name(line: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"label"):
        _read(tmp_path, line)


def test_every_label_of_every_line_is_one_the_network_can_give() -> None:
    lines = read_sentences()
    outputs = set(rows.LABELS)
    assert len(lines) > 20_000
    assert {line.language for line in lines} == {"en", "es", "fr", "de"}
    assert {label for line in lines for label in line.labels} <= outputs
    assert 0.03 < sum(line.is_held_back for line in lines) / len(lines) < 0.07


def test_one_part_keeps_its_labels() -> None:
    example = rows.of_sentence(Labelled("en", "Your refund of $64.00 was sent.", (("refund", "done"),)))
    assert example is not None
    assert [[rows.LABELS[at] for at in labels] for labels in example.labels] == [[("refund", "done")]]
    assert not example.cases


def test_several_parts_are_told_apart_by_facts() -> None:
    both = (("refund", "done"), ("cancel", "failed"))
    example = rows.of_sentence(Labelled("en", "The $64.00 was refunded, cancelling order 7001034 failed.", both))
    assert example is not None
    assert len(example.segments) == 2
    assert example.labels == [[], []]
    assert {case.kinds for case in example.cases} == {frozenset({"refund", "cancel"})}


def test_facts_made_for_a_sentence_bear_it_out_or_not_and_are_the_same_each_time() -> None:
    sentence = Labelled("en", "The $64.00 went back to you.", (("refund", "done"),))
    made = list(cases_of(sentence, 40))
    assert made == list(cases_of(sentence, 40))
    for row in made:
        paid = any(action["status"] == "succeeded" for action in row["facts"]["actions"])
        assert row["expected"]["holds"] is paid
    assert {row["expected"]["holds"] for row in made} == {True, False}
    assert sentences.FOLDER.is_dir()

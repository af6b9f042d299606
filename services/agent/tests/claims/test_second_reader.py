"""The trained second reader beside the rules: what it adds, what it may not undo, and that its file fits its code."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.adapters import claim_encoder, claim_network
from agent.adapters.claim_encoder import ClaimEncoder
from agent.adapters.claim_network import ClaimNetwork
from agent.adapters.claim_reader import ClaimReader, artefact
from agent.adapters.claim_readers import load_reader
from agent.adapters.encoding import load_encoder
from agent.core.claims import Action, Facts, Opinion, Order, Reader, Segment, check_reply, templated_truth

ROWS = Path(__file__).parent / "develop.jsonl"
LANGUAGES = ("en", "es", "fr", "de")
SUCCEEDED = Facts(actions=(Action(key="refund:7001000:L1", kind="refund", status="succeeded"),))
TRAINED = load_reader()
needs_encoder = pytest.mark.skipif(TRAINED is None, reason="the sentence encoder's wheel is not installed")


def saying(topic: str, share: float, manner: str = "done") -> Reader:
    """A reader that sees the same in everything, and nothing claimed for the rest."""
    opinion = Opinion((((topic, manner, share),),) if topic != "none" else ())

    def read(segments: Any) -> list[Opinion]:
        return [opinion for _ in segments]

    return read


def test_a_claim_the_rules_miss_is_stopped_and_named() -> None:
    reply = "Zorbed and sealed, my friend."
    assert check_reply(reply, "en", Facts()).holds
    checked = check_reply(reply, "en", Facts(), saying("refund", 0.9))
    assert not checked.holds
    assert [(c.kind, c.state, c.holds) for c in checked.claims] == [("refund", "done", False)]


def test_an_opinion_is_held_against_the_facts_like_a_reading_of_the_rules() -> None:
    assert check_reply("Zorbed and sealed, my friend.", "en", SUCCEEDED, saying("refund", 0.9)).holds


def test_a_doubt_does_not_stop_what_the_rules_let_pass() -> None:
    assert check_reply("Zorbed and sealed, my friend.", "en", Facts(), saying("refund", 0.5)).holds


def test_a_claim_the_rules_imagine_is_let_through_only_when_the_reader_is_sure() -> None:
    reply = "Your refund has been issued."
    assert not check_reply(reply, "en", Facts(), saying("refund", 0.5)).holds
    assert check_reply(reply, "en", Facts(), saying("refund", 0.05)).holds


def test_an_order_nobody_knows_is_never_talked_away() -> None:
    assert not check_reply("Order 7001999 has a kettle in it.", "en", Facts(), saying("none", 1.0)).holds


def test_a_price_other_than_the_one_read_is_never_talked_away() -> None:
    facts = Facts(orders=(Order(order_id="7001000", status="delivered"),), known_amounts=("39.00",))  # type: ignore[arg-type]
    assert not check_reply("Order 7001000 has a kettle (49.00 USD).", "en", facts, saying("none", 1.0)).holds


def test_a_foreign_language_is_not_put_to_the_reader() -> None:
    assert not check_reply("L'importo è stato rimborsato.", "it", SUCCEEDED, saying("none", 1.0)).holds


def test_each_deed_of_a_sentence_is_put_to_the_reader_by_itself() -> None:
    seen: list[Segment] = []

    def read(segments: Any) -> list[Opinion]:
        seen.extend(segments)
        return [Opinion(()) for _ in segments]

    check_reply("I refunded $27.00, and order 7001000 has been cancelled.", "en", SUCCEEDED, read)
    assert len(seen) == 2
    assert "refunded" in seen[0].text
    assert "cancelled" in seen[1].text


@needs_encoder
def test_the_packaged_weights_fit_this_code_and_this_encoder() -> None:
    encoder = load_encoder()
    assert encoder is not None
    assert ClaimReader(encoder, artefact())([]) == []
    assert artefact().stat().st_size < 2_000_000


def test_the_packaged_network_fits_this_code() -> None:
    network = ClaimNetwork(ClaimEncoder(claim_encoder.artefact()), claim_network.artefact())
    assert network([]) == []
    assert claim_network.artefact().stat().st_size < 2_000_000
    assert claim_encoder.artefact().stat().st_size < 20_000_000


def test_a_sentence_that_speaks_of_two_kinds_is_true_only_when_both_are() -> None:
    said = (("refund", "done", 0.9),), (("cancel", "done", 0.9),)

    def read(segments: Any) -> list[Opinion]:
        return [Opinion(said) for _ in segments]

    cancelled = Action(key="cancel:7001000", kind="cancel", status="succeeded")
    both = Facts(actions=(*SUCCEEDED.actions, cancelled))
    assert check_reply("Zorbed and sealed, my friend.", "en", both, read).holds
    assert not check_reply("Zorbed and sealed, my friend.", "en", SUCCEEDED, read).holds


@needs_encoder
@pytest.mark.parametrize("language", LANGUAGES)
def test_both_readers_together_judge_every_tenth_known_sentence_right(language: str) -> None:
    lines = ROWS.read_text().splitlines()[::10]
    rows = [row for row in map(json.loads, lines) if row["language"] == language]
    wrong = {True: 0, False: 0}
    for row in rows:
        checked = check_reply(row["reply"], language, Facts.model_validate(row["facts"]), TRAINED)
        wrong[row["expected"]["holds"]] += checked.holds != row["expected"]["holds"]
    assert wrong[False] <= 0.02 * sum(not r["expected"]["holds"] for r in rows)
    assert wrong[True] <= 0.03 * sum(r["expected"]["holds"] for r in rows)


@needs_encoder
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("status", ["succeeded", "pending", "awaiting_approval", "rejected", "failed"])
@pytest.mark.parametrize("kind", ["refund", "cancel", "address_change", "return_label", "account_change"])
def test_the_templated_truth_passes_both_readers(language: str, kind: str, status: str) -> None:
    row = Action(key="k", kind=kind, status=status, order_id="7001000", reference="RF-10")
    facts = Facts(actions=(row,))
    reply = templated_truth(language, facts)
    assert check_reply(reply, language, facts, TRAINED).holds, reply

"""Which remembered rows may be spoken of, and which copy of a row is the newer one."""

from typing import Any

import pytest

from agent.core.claims import check_sentence, templated_truth
from agent.core.claims.facts import Facts
from agent.core.claims.wordings import NOTHING, OFFER, UNREAD
from agent.core.facts import facts_now, keep_newest, merge_ledger
from agent.core.packet import Case, next_step
from agent.core.state import Memory, RunProgress

FINAL = ("succeeded", "rejected", "failed")
OPEN = ("pending", "awaiting_approval")


def memory_with(status: str, **over: Any) -> Memory:
    return Memory(actions={"k": {"key": "k", "kind": "refund", "status": status, "order_id": "4417028"} | over})


@pytest.mark.parametrize("status", [*FINAL, *OPEN])
@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("current", [True, False])
def test_without_the_ledger_only_final_answers_of_this_message_count(
    status: str, answered: bool, current: bool
) -> None:
    run = RunProgress(message_id="msg_1", answered_keys=["k"] if answered else [])
    facts = facts_now(memory_with(status), run, current=current)
    assert bool(facts.actions) is (current or (answered and status in FINAL))
    assert facts.complete is current


@pytest.mark.parametrize(
    ("known", "row", "kept"),
    [
        ("pending", {"status": "succeeded"}, "succeeded"),
        ("awaiting_approval", {"status": "pending"}, "pending"),
        ("succeeded", {"status": "failed"}, "failed"),
        ("failed", {"status": "succeeded"}, "succeeded"),
        ("succeeded", {"status": "pending"}, "succeeded"),
        ("rejected", {"status": "awaiting_approval"}, "rejected"),
    ],
)
def test_a_final_row_never_opens_again(known: str, row: dict[str, Any], kept: str) -> None:
    memory = memory_with(known)
    merge_ledger([{"key": "k", "kind": "refund"} | row], memory)
    assert memory.actions["k"]["status"] == kept


def test_of_two_versions_the_higher_one_stays() -> None:
    memory = memory_with("failed", version=4)
    merge_ledger([{"key": "k", "kind": "refund", "status": "succeeded", "version": 3}], memory)
    assert memory.actions["k"]["status"] == "failed"
    merge_ledger([{"key": "k", "kind": "refund", "status": "succeeded", "version": 5}], memory)
    assert memory.actions["k"]["status"] == "succeeded"


@pytest.mark.parametrize(
    ("saved", "row", "kept"),
    [
        (("succeeded", 2), ("pending", None), "saved"),
        (("pending", 2), ("awaiting_approval", None), "saved"),
        (("failed", 4), ("succeeded", None), "saved"),
        (("pending", 2), ("succeeded", None), "row"),
        (("failed", 4), ("succeeded", 3), "saved"),
        (("awaiting_approval", 1), ("pending", 2), "row"),
        (("succeeded", None), ("pending", None), "saved"),
        (("pending", None), ("awaiting_approval", None), "saved"),
        (("awaiting_approval", None), ("pending", None), "row"),
    ],
)
def test_a_run_that_was_taken_over_puts_no_older_copy_over_what_was_saved_meanwhile(
    saved: tuple[str, int | None], row: tuple[str, int | None], kept: str
) -> None:
    """A tool's answer carries no version; what the ledger told of a row does."""
    copies = {name: {"key": "k", "status": s, "version": v} for name, (s, v) in (("saved", saved), ("row", row))}
    memory = Memory(actions={"k": copies["saved"]})
    assert keep_newest([copies["row"]], memory) == [copies[kept]]
    assert memory.actions == {"k": copies[kept]}


def test_what_a_run_alone_knows_is_kept_with_its_reason() -> None:
    memory, row = Memory(), {"key": "k", "status": "rejected", "reason": "too late"}
    assert keep_newest([row], memory) == [row]
    assert memory.actions == {"k": row}


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Nothing has been refunded."),
        ("en", "Your order 4417028 has not been cancelled."),
        ("en", "Your refund could not be made."),
        ("es", "No se ha reembolsado nada."),
        ("fr", "Rien n'a été remboursé."),
        ("de", "Es wurde nichts erstattet."),
    ],
)
def test_without_the_ledger_no_deed_can_be_denied(language: str, sentence: str) -> None:
    assert check_sentence(sentence, language, Facts()).claims
    assert not check_sentence(sentence, language, Facts(complete=False)).holds


@pytest.mark.parametrize("language", ["en", "es", "fr", "de"])
def test_without_the_ledger_the_template_neither_tells_nor_denies(language: str) -> None:
    facts = Facts(complete=False)
    words = templated_truth(language, facts)
    assert words == f"{UNREAD[language]} {OFFER[language]}"
    assert NOTHING[language] not in words
    assert check_sentence(UNREAD[language], language, facts).claims == ()
    assert check_sentence(UNREAD[language], language, facts).holds


@pytest.mark.parametrize("status", [*FINAL, *OPEN])
def test_a_next_step_rests_on_rows_only_if_they_were_read(status: str) -> None:
    def step(current: bool) -> str:
        return next_step(Case("asked", "", "en", "refund", "C-1", rows_current=current), memory_with(status))

    assert step(False).startswith("Look at the ledger first")
    assert not step(True).startswith("Look at the ledger first")

"""A statement goes out with several messages while it says the same, and never longer than it should."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from common.statements import BadStatement, Signer, Verifier
from gateway import assertions
from gateway.assertions import Assertions
from gateway.core.conversations import Conversation, new_conversation

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ONE = new_conversation("conv_1", "C-1", "C-1", "chat", "en")
Change = Callable[[Conversation], Conversation]


@pytest.fixture
def signer(keys: Path) -> Signer:
    return Signer.from_file("gateway", keys / "gateway.pem")


@pytest.fixture
def verifier(keys: Path) -> Verifier:
    return Verifier(json.loads((keys / "trusted.jwks.json").read_text()))


def test_the_next_messages_carry_the_same_statement_for_a_fifth_of_its_life(signer: Signer, verifier: Verifier) -> None:
    made = Assertions(signer, 600)
    first = made.current(ONE, "chat", "login", NOW)
    soon, later = NOW + timedelta(seconds=119), NOW + timedelta(seconds=121)
    assert made.current(ONE, "chat", "login", soon) == first
    assert verifier.session(first, soon).expires_at - soon >= timedelta(seconds=480)
    second = made.current(ONE, "chat", "login", later)
    assert second != first
    assert verifier.session(second, later).expires_at - later >= timedelta(seconds=599)


@pytest.mark.parametrize(
    ("change", "channel", "proof"),
    [
        (lambda c: replace(c, id="conv_2"), "chat", "login"),
        (lambda c: replace(c, customer_id="C-2"), "chat", "login"),
        (lambda c: replace(c, step_up_until=NOW + timedelta(seconds=60)), "chat", "login"),
        (lambda c: c, "email", "login"),
        (lambda c: c, "chat", "otp"),
    ],
)
def test_what_says_something_else_is_a_statement_of_its_own(
    signer: Signer, verifier: Verifier, change: Change, channel: str, proof: assertions.ProofName
) -> None:
    made, other = Assertions(signer, 600), change(ONE)
    made.current(ONE, "chat", "login", NOW)
    session = verifier.session(made.current(other, channel, proof, NOW), NOW)
    assert (session.customer_id, session.conversation_id) == (other.customer_id, other.id)
    assert (session.channel, session.verified_by) == (channel, proof)
    assert session.verified_fields == other.verified_fields(proof, NOW)


def test_a_code_that_no_longer_counts_is_not_said_again(signer: Signer, verifier: Verifier) -> None:
    made, stepped_up = Assertions(signer, 600), replace(ONE, step_up_until=NOW + timedelta(seconds=60))
    made.current(stepped_up, "chat", "login", NOW)
    later = NOW + timedelta(seconds=61)
    assert verifier.session(made.current(stepped_up, "chat", "login", later), later).verified_fields == ("login",)


def test_a_renewed_statement_is_never_one_that_was_handed_out(signer: Signer) -> None:
    made = Assertions(signer, 600)
    held = made.current(ONE, "chat", "login", NOW)
    assert made.fresh(ONE, "chat", "login", NOW) != held
    assert made.current(ONE, "chat", "login", NOW) != held


def test_a_clock_set_back_does_not_stretch_a_statement(signer: Signer, verifier: Verifier) -> None:
    made = Assertions(signer, 600)
    ahead = made.current(ONE, "chat", "login", NOW + timedelta(hours=1))
    assert made.current(ONE, "chat", "login", NOW) != ahead
    with pytest.raises(BadStatement):
        verifier.session(made.current(ONE, "chat", "login", NOW), NOW + timedelta(seconds=611))


def test_only_the_newest_are_remembered(signer: Signer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assertions, "_REMEMBERED", 2)
    made = Assertions(signer, 600)
    first, *_ = [made.current(replace(ONE, id=f"conv_{n}"), "chat", "login", NOW) for n in range(3)]
    assert len(made._signed) == 2
    assert made.current(replace(ONE, id="conv_0"), "chat", "login", NOW) != first

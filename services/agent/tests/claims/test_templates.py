"""The reply of last resort always passes the check it exists for."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.claims import Action, Facts, Order, check_reply, templated_truth

KINDS = ("refund", "cancel", "address_change", "return_label", "account_change", "something_new")
STATUSES = ("succeeded", "pending", "awaiting_approval", "rejected", "failed", "unheard_of")
actions = st.builds(
    Action,
    key=st.sampled_from(["refund:7001000:L1", "cancel:7001000", "account_change:C-1:email:1", ""]),
    kind=st.sampled_from(KINDS),
    status=st.sampled_from(STATUSES),
    order_id=st.sampled_from([None, "7001000", "#1001", "W1234567"]),
    line_id=st.sampled_from([None, "L1", "shipping"]),
    amount=st.none() | st.decimals(Decimal("0.01"), Decimal("9999.99"), places=2),
    currency=st.sampled_from([None, "USD", "EUR", "JPY"]),
    reference=st.sampled_from([None, "RF-10", "re_1abc", "odd reference"]),
)
all_facts = st.builds(
    Facts,
    actions=st.lists(actions, max_size=4).map(tuple),
    orders=st.lists(
        st.builds(Order, order_id=st.just("7001000"), status=st.sampled_from(["processing", "shipped", "cancelled"])),
        max_size=1,
    ).map(tuple),
    handoff=st.booleans(),
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["en", "es", "fr", "de"]), all_facts)
def test_the_templated_reply_always_passes_the_check(language: str, facts: Facts) -> None:
    reply = templated_truth(language, facts)
    assert reply
    assert check_reply(reply, language, facts).holds, reply


@pytest.mark.parametrize("language", ["en", "es", "fr", "de"])
@pytest.mark.parametrize("kind", KINDS[:5])
@pytest.mark.parametrize("status", STATUSES[:5])
def test_every_kind_and_status_is_told_with_its_order_and_reference(language: str, kind: str, status: str) -> None:
    row = Action(key="k", kind=kind, status=status, order_id="7001000", reference="RF-10")
    reply = templated_truth(language, Facts(actions=(row,)))
    assert "7001000" in reply
    assert "RF-10" in reply
    assert [c.kind for c in check_reply(reply, language, Facts(actions=(row,))).claims] == [kind]


@pytest.mark.parametrize("language", ["en", "es", "fr", "de"])
def test_the_reply_of_an_empty_ledger_is_false_once_money_moved(language: str) -> None:
    row = Action(key="k", kind="refund", status="succeeded")
    assert not check_reply(templated_truth(language, Facts()), language, Facts(actions=(row,))).holds


@pytest.mark.parametrize("language", ["en", "es", "fr", "de"])
def test_a_waiting_refund_is_never_told_as_done(language: str) -> None:
    waiting = Action(key="k", kind="refund", status="awaiting_approval", amount=Decimal("180.00"), currency="EUR")
    done = waiting.model_copy(update={"status": "succeeded"})
    assert not check_reply(templated_truth(language, Facts(actions=(waiting,))), language, Facts(actions=(done,))).holds


@pytest.mark.parametrize(
    ("language", "here"),
    [
        ("en", "in this conversation"),
        ("es", "en esta conversación"),
        ("fr", "dans cette conversation"),
        ("de", "In diesem Gespräch"),
    ],
)
def test_the_reply_of_an_empty_ledger_speaks_of_this_conversation_alone(language: str, here: str) -> None:
    assert here in templated_truth(language, Facts())
    assert here not in templated_truth(language, Facts(handoff=True))

"""SPEC §4, rule by rule: the first that fits decides."""

import pytest

from router.core.intents import INTENTS
from router.core.reading import Reading, with_evidence
from router.core.routing import decide_route

_EVEN = {name: 1 / len(INTENTS) for name in INTENTS}


def _reading(intent: str, p: float, second: tuple[str, float] | None = None, **fields: object) -> Reading:
    probabilities = with_evidence(_EVEN, intent, p)
    if second:
        # Exactly p and the second's share, the rest of the mass spread over the others.
        rest = (1 - p - second[1]) / (len(INTENTS) - 2)
        probabilities = dict.fromkeys(INTENTS, rest) | {intent: p, second[0]: second[1]}
    return Reading(probabilities, "en", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reading", "follows", "route", "flags"),
    [
        (_reading("asks_for_human", 0.95), False, "human", ("asked_for_person",)),
        # However unsure and whatever is open: a wish for a person comes first.
        (_reading("asks_for_human", 0.31), True, "human", ("asked_for_person", "follow_up", "low_confidence")),
        (_reading("where_is_my_order", 0.99, asked_for_person=True), False, "human", ("asked_for_person",)),
        (_reading("legal", 0.90), False, "human", ("sensitive:legal",)),
        (_reading("refund", 0.60, ("legal", 0.30)), False, "human", ("sensitive:legal", "low_confidence")),
        (_reading("refund", 0.60, ("safety", 0.30)), False, "human", ("sensitive:safety", "low_confidence")),
        (
            _reading("refund", 0.60, ("account_security", 0.31)),
            True,
            "human",
            ("sensitive:account_security", "follow_up", "low_confidence"),
        ),
        (_reading("refund", 0.60, ("legal", 0.29)), False, "agent", ("low_confidence",)),
        (_reading("where_is_my_order", 0.97, topics=("safety",)), False, "human", ("sensitive:safety",)),
        (_reading("where_is_my_order", 0.97, multi_intent=True), False, "agent", ("multi_intent",)),
        (_reading("where_is_my_order", 0.97), True, "agent", ("follow_up",)),
        (_reading("policy_question", 0.97), True, "agent", ("follow_up",)),
        (_reading("where_is_my_order", 0.85), False, "fixed", ()),
        (_reading("where_is_my_order", 0.849), False, "agent", ()),
        (_reading("policy_question", 0.85), False, "rag", ()),
        (_reading("product_question", 0.99), False, "rag", ()),
        (_reading("product_question", 0.84), False, "agent", ()),
        (_reading("refund", 0.99), False, "agent", ()),
        (_reading("other", 0.99), False, "agent", ()),
        (_reading("complaint", 0.70), False, "agent", ()),
        (_reading("complaint", 0.699), False, "agent", ("low_confidence",)),
    ],
)
def test_the_first_rule_that_fits_decides(reading: Reading, follows: bool, route: str, flags: tuple[str, ...]) -> None:
    decision = decide_route(reading, follows_open_turn=follows)
    assert (decision.route, decision.flags) == (route, flags)


@pytest.mark.parametrize(
    "intent", [i for i in INTENTS if i not in ("where_is_my_order", "policy_question", "product_question")]
)
def test_only_three_intents_ever_skip_the_agent(intent: str) -> None:
    assert decide_route(_reading(intent, 0.99), follows_open_turn=False).route in ("agent", "human")


def test_evidence_raises_one_and_keeps_the_sum() -> None:
    raised = with_evidence({"a": 0.2, "b": 0.3, "c": 0.5}, "a", 0.6)
    assert raised["a"] == 0.6
    assert sum(raised.values()) == pytest.approx(1.0)
    assert raised["c"] / raised["b"] == pytest.approx(5 / 3)


def test_evidence_never_lowers() -> None:
    assert with_evidence({"a": 0.9, "b": 0.1}, "a", 0.5) == {"a": 0.9, "b": 0.1}

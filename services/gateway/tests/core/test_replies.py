"""Which reply events are kept, by the conversation's owner version and what is known."""

import itertools
from typing import Any

import pytest

from common.events import ReplyEvent
from gateway.core.replies import Known, plan_replies, storable

NOTHING = Known(0, {}, frozenset())


def event(
    seq: int, kind: str = "token", *, message: str = "m", version: int = 0, writer: str = "agent", **data: Any
) -> ReplyEvent:
    return ReplyEvent(
        conversation_id="c", message_id=message, channel="chat", owner_version=version, seq=seq, event=kind,
        data=data or {"text": "x"}, writer=writer,
    )  # fmt: skip


def kept(plan: Any) -> list[tuple[str, int, str]]:
    return [(k.message_id, k.seq, k.event) for k in plan.events]


def test_a_whole_answer_is_kept_and_teaches_the_status() -> None:
    plan = plan_replies(
        NOTHING, [event(1, "status"), event(2), event(3, "done", route="agent", handoff=True, reply="ok")]
    )
    assert kept(plan) == [("m", 1, "status"), ("m", 2, "token"), ("m", 3, "done")]
    assert (plan.status, plan.open_agent_turn, plan.dropped) == ("with_person", False, 0)
    assert [f.text for f in plan.finished] == ["ok"]


def test_repeated_events_and_whatever_follows_an_end_are_dropped() -> None:
    known = Known(0, {"m": 2, "n": 3}, frozenset({"n"}))
    plan = plan_replies(known, [event(1), event(2), event(3), event(4, message="n")])
    assert kept(plan) == [("m", 3, "token")]
    assert plan.dropped == 3


def test_a_stale_end_becomes_the_persons_right_behind_what_was_seen() -> None:
    plan = plan_replies(
        Known(2, {"m": 1}, frozenset()), [event(2, version=1), event(3, "done", version=1, reply="paid")]
    )
    assert kept(plan) == [("m", 2, "done")]
    assert plan.events[0].data["reply"] == ""
    assert plan.finished[0].text == ""


@pytest.mark.parametrize("writer", ["approvals", "toolgateway"])
def test_only_the_agents_words_grow_stale(writer: str) -> None:
    plan = plan_replies(Known(5, {}, frozenset()), [event(1, "done", version=1, writer=writer, reply="hi")])
    assert kept(plan) == [("m", 1, "done")]
    assert plan.owner_version == 5


@pytest.mark.parametrize(
    ("reply", "route", "is_open"),
    [("Which one?", "agent", True), ("Done.", "agent", False), ("Which one?", "fixed", False), (None, "agent", False)],
)
def test_an_open_question_of_the_agent_is_remembered(reply: str | None, route: str, is_open: bool) -> None:
    plan = plan_replies(NOTHING, [event(1, "done", route=route, handoff=False, reply=reply)])
    assert plan.open_agent_turn is is_open


def test_however_a_redelivery_is_cut_each_number_is_kept_once() -> None:
    whole = [event(1, "status"), event(2), event(3), event(4, "done", reply="ok")]
    for a, b in itertools.combinations(range(5), 2):
        stored: dict[str, int] = {}
        done: frozenset[str] = frozenset()
        seen: list[int] = []
        for batch in (whole[:b], whole[a:], whole):
            plan = plan_replies(Known(0, stored, done), batch)
            for k in plan.events:
                seen.append(k.seq)
                stored = {"m": k.seq}
                done = done | ({"m"} if k.event == "done" else set())
        assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize("bad", ["a\x00b", "\ud800", "ok \udfff end"])
def test_what_jsonb_refuses_is_replaced_and_the_rest_stays(bad: str) -> None:
    clean = storable({"reply": bad, "list": [bad, {"k": bad}], "n": 1, "ok": "👨‍👩‍👧"})
    text = str(clean)
    assert "\x00" not in text
    text.encode()
    assert (clean["n"], clean["ok"]) == (1, "👨‍👩‍👧")

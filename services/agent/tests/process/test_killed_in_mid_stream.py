"""kill -9 of a real worker right behind the first sentence it let out: the next one goes on from there."""

from typing import Any

import httpx2

SORRY, WHICH = "I'm sorry about your blender.", "Which item of your order is it about?"
TAKEN_OVER_WITHIN_S = 10.0


async def test_killed_after_its_first_sentence_the_other_worker_says_the_rest_once(house: Any, standby: Any) -> None:
    asked = await house.ask("Hello there, {token}")
    turns = [
        {"text": f"{SORRY} Thank you for writing to us. {WHICH} We look forward to hearing from you.", "pace_ms": 150},
        {"text": f"{SORRY} {WHICH}"},
    ]
    script = {"match": {"text_contains": asked.mark}, "turns": turns}
    assert httpx2.post(f"{house.sandbox_url}/_sandbox/model/scripts", json=script).status_code == 201
    # Its first checkpoint is the one that lets the first sentence out.
    victim = house.start("loop", crash_at="run.after_checkpoint:1", name="victim")
    try:
        await victim.ready()
        standby.freeze()
        await house.take_in(asked)
        assert await victim.killed_or(lambda: house.all_said(asked))
        standby.thaw()
        await house.until_done(asked, TAKEN_OVER_WITHIN_S)
        events = {event["seq"]: event for _, event in await house.replies(asked.message_id)}
        told = [events[n] for n in sorted(events)]
        assert [(e["seq"], e["event"]) for e in told] == list(enumerate(["status", "token", "token", "done"], 1))
        assert [e["data"]["text"] for e in told if e["event"] == "token"] == [SORRY, f" {WHICH}"]
        assert told[-1]["data"]["reply"] == f"{SORRY} {WHICH}"
        calls = httpx2.get(f"{house.sandbox_url}/_sandbox/model/calls", params={"limit": 1}).json()
        assert calls[0]["messages"][-2]["content"][0]["text"] == SORRY
    finally:
        standby.thaw()
        victim.end()

"""The Messages API over a real socket, spoken to by the official SDK."""

import json
import time
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import pytest

GET_ORDER = {
    "name": "get_order",
    "description": "Look up an order.",
    "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
}
LONG = "Be kind to the customer. " * 400


@pytest.fixture
def claude(sandbox: Any) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=f"{sandbox.url}/anthropic", api_key="any", max_retries=0) as client:
        yield client


def ask(claude: anthropic.Anthropic, text: str, **more: Any) -> Any:
    options = {"model": "claude-sonnet-5-5", "max_tokens": 500, "tools": [GET_ORDER], **more}
    with claude.messages.stream(messages=[{"role": "user", "content": text}], **options) as stream:
        return stream.get_final_message()


def script(sandbox: Any, needle: str, *turns: dict[str, Any], repeat: bool = False) -> None:
    body = {"match": {"text_contains": needle}, "turns": list(turns), "repeat": repeat}
    assert sandbox.call("POST", "/_sandbox/model/scripts", body).status_code == 201


def test_a_tool_loop_streams_arguments_in_pieces_and_ends_in_text(claude: anthropic.Anthropic) -> None:
    messages: list[Any] = [{"role": "user", "content": "Where is order 4417028?"}]
    options: Any = {"model": "claude-sonnet-5-5", "max_tokens": 500, "tools": [GET_ORDER]}
    with claude.messages.stream(messages=messages, **options) as stream:
        deltas = [event.delta for event in stream if event.type == "content_block_delta"]
        first = stream.get_final_message()
    pieces = [delta.partial_json for delta in deltas if delta.type == "input_json_delta"]
    assert first.stop_reason == "tool_use"
    assert len(pieces) > 2
    assert json.loads("".join(pieces)) == first.content[0].input == {"order_id": "4417028"}
    result = json.dumps({"status": "ok", "result": {"order_id": "4417028", "status": "shipped", "lines": []}})
    messages.append(
        {"role": "assistant", "content": first.model_dump(include={"content"}, exclude_none=True)["content"]}
    )
    block = {"type": "tool_result", "tool_use_id": first.content[0].id, "content": f"<tool_data>{result}</tool_data>"}
    messages.append({"role": "user", "content": [block]})
    second = claude.messages.create(messages=messages, **options)
    assert second.stop_reason == "end_turn"
    assert second.content[0].text == "Order 4417028 has been shipped and is on its way."


def test_stream_and_plain_answer_say_the_same_and_count_alike(claude: anthropic.Anthropic) -> None:
    streamed = ask(claude, "Where is order 4417028?")
    plain = claude.messages.create(
        model="claude-sonnet-5-5",
        max_tokens=500,
        tools=[GET_ORDER],  # type: ignore[list-item]
        messages=[{"role": "user", "content": "Where is order 4417028?"}],
    )
    assert [(b.name, b.input) for b in streamed.content] == [(b.name, b.input) for b in plain.content]
    assert streamed.usage.output_tokens == plain.usage.output_tokens > 0
    assert streamed.usage.input_tokens == plain.usage.input_tokens > 0
    assert plain._request_id


def test_a_marked_prefix_is_written_to_the_cache_once_and_read_after_that(claude: anthropic.Anthropic) -> None:
    system = [{"type": "text", "text": LONG + "cache test", "cache_control": {"type": "ephemeral"}}]
    first, second = (ask(claude, text, system=system).usage for text in ("Hello", "Hello again"))
    assert first.cache_creation_input_tokens > 1024
    assert first.cache_read_input_tokens == 0
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens
    assert second.cache_creation_input_tokens == 0
    assert first.cache_creation.ephemeral_5m_input_tokens == first.cache_creation_input_tokens
    unmarked = ask(claude, "Hello", system=LONG + "no mark").usage
    assert (unmarked.cache_creation_input_tokens, unmarked.cache_read_input_tokens) == (0, 0)


def test_tokens_are_counted_and_models_listed(claude: anthropic.Anthropic) -> None:
    counted = claude.messages.count_tokens(model="claude-sonnet-5-5", messages=[{"role": "user", "content": "x" * 400}])
    assert 100 <= counted.input_tokens <= 150
    assert "claude-sonnet-5-5" in [model.id for model in claude.models.list()]


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (529, anthropic.OverloadedError, "overloaded_error"),
        (400, anthropic.BadRequestError, "invalid_request_error"),
    ],
)
def test_a_scripted_error_arrives_as_the_sdks_own(
    sandbox: Any, claude: anthropic.Anthropic, status: int, error: type[anthropic.APIStatusError], kind: str
) -> None:
    script(sandbox, f"errs {status}", {"error": status}, {"text": "better now"})
    with pytest.raises(error) as raised:
        ask(claude, f"it errs {status}")
    assert raised.value.type == kind
    assert raised.value.request_id
    assert ("retry-after" in raised.value.response.headers) == (status == 429)
    assert ask(claude, f"it errs {status}").content[0].text == "better now", "a broken turn isn't repeated"


def test_an_error_in_mid_stream_comes_after_part_of_the_text(sandbox: Any, claude: anthropic.Anthropic) -> None:
    script(sandbox, "midstream", {"text": "a long answer that never gets to its end, sadly enough", "error": 529})
    seen = []
    options: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "midstream"}]}
    with pytest.raises(anthropic.APIStatusError) as raised, claude.messages.stream(**options) as stream:
        seen.extend(event.type for event in stream)
    assert (raised.value.status_code, raised.value.type) == (200, "overloaded_error")
    assert "message_stop" not in seen


def test_a_cut_stream_ends_after_so_many_events_without_a_stop(sandbox: Any) -> None:
    script(sandbox, "cut", {"text": "x" * 200, "cut_after": 5})
    assert [event for event, _ in _raw_events(sandbox, "cut")] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
    ]


def test_a_cut_after_the_last_event_still_lacks_the_stop(sandbox: Any) -> None:
    script(sandbox, "cut late", {"text": "short", "cut_after": 999})
    assert _raw_events(sandbox, "cut late")[-1][0] == "message_delta"


def test_a_cut_tool_call_never_has_all_its_arguments(sandbox: Any, claude: anthropic.Anthropic) -> None:
    tool = {"name": "issue_refund", "input": {"order_id": "4417028", "amount": "64.00"}}
    script(sandbox, "half", {"tool_use": [tool], "cut_after": 6})
    events = [data for _, data in _raw_events(sandbox, "half")]
    assert all(event["type"] not in ("message_delta", "message_stop") for event in events)


def test_a_raw_turn_is_sent_as_it_stands(sandbox: Any) -> None:
    script(sandbox, "garbage", {"raw": "event: message_start\ndata: {oops\n\n"})
    answer = _post(sandbox, "garbage", stream=True)
    assert answer.text == "event: message_start\ndata: {oops\n\n"


def test_a_script_may_ask_for_any_input_and_set_ids_and_usage(sandbox: Any, claude: anthropic.Anthropic) -> None:
    tools = [
        {"name": "issue_refund", "input": [1, "two"], "id": "toolu_x"},
        {"name": "nonsense", "input": None, "id": "toolu_x"},
    ]
    script(sandbox, "odd", {"tool_use": tools, "text": "hm", "usage": {"output_tokens": 77}})
    turn = ask(claude, "odd")
    assert [(b.id, b.name) for b in turn.content[1:]] == [("toolu_x", "issue_refund"), ("toolu_x", "nonsense")]
    assert turn.content[1].input == [1, "two"]
    assert turn.usage.output_tokens == 77


def test_the_newest_unused_script_is_bound_and_the_persona_answers_after_it(
    sandbox: Any, claude: anthropic.Anthropic
) -> None:
    script(sandbox, "zebra", {"text": "older"})
    script(sandbox, "ZEBRA", {"text": "newer"})
    assert ask(claude, "a zebra").content[0].text == "newer"
    assert ask(claude, "another zebra").content[0].text == "older"
    assert ask(claude, "third zebra, order 4417028, where is it?").content[0].name == "get_order"


def test_two_conversations_with_one_text_get_a_script_each_while_there_are_some(
    sandbox: Any, claude: anthropic.Anthropic
) -> None:
    script(sandbox, "twin", {"text": "one"})
    script(sandbox, "twin", {"text": "two"})
    assert [ask(claude, "twin").content[0].text for _ in range(2)] == ["two", "one"]


def test_a_named_user_who_asks_again_gets_the_same_turn(sandbox: Any, claude: anthropic.Anthropic) -> None:
    script(sandbox, "resume", {"text": "once"}, {"text": "later"})
    metadata = {"user_id": "conv_1"}
    assert [ask(claude, "resume", metadata=metadata).content[0].text for _ in range(2)] == ["once", "once"]
    assert ask(claude, "resume", metadata={"user_id": "conv_2"}).content[0].type == "text"


def test_a_repeating_script_starts_afresh_with_every_message(sandbox: Any, claude: anthropic.Anthropic) -> None:
    script(sandbox, "again", {"text": "lie"}, repeat=True)
    history: list[Any] = [{"role": "user", "content": "again please"}]
    for _ in range(3):
        turn = claude.messages.create(model="m", max_tokens=9, messages=history)
        assert turn.content[0].text == "lie"
        history += [{"role": "assistant", "content": "lie"}, {"role": "user", "content": "go on"}]


def test_a_correction_by_the_program_goes_on_with_the_same_run(sandbox: Any, claude: anthropic.Anthropic) -> None:
    script(sandbox, "mend", {"text": "lie one"}, {"text": "lie two"})
    history: list[Any] = [{"role": "user", "content": "mend it"}]
    assert claude.messages.create(model="m", max_tokens=9, messages=history).content[0].text == "lie one"
    check = "<check>Your reply was not sent. Write it again.</check>"
    history += [{"role": "assistant", "content": "lie one"}, {"role": "user", "content": check}]
    assert claude.messages.create(model="m", max_tokens=9, messages=history).content[0].text == "lie two"


def test_what_a_tool_result_holds_matches_no_script(sandbox: Any, claude: anthropic.Anthropic) -> None:
    script(sandbox, "secret word", {"text": "scripted"})
    call = {"type": "tool_use", "id": "t1", "name": "get_order", "input": {"order_id": "4417028"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": '{"status":"ok","result":{"note":"secret word"}}'}
    messages: list[Any] = [
        {"role": "user", "content": "Where is order 4417028?"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    turn = claude.messages.create(model="m", max_tokens=9, messages=messages, tools=[GET_ORDER])  # type: ignore[list-item]
    assert turn.content[0].text != "scripted"


def test_calls_are_kept_newest_first_with_provider_and_time(sandbox: Any, claude: anthropic.Anthropic) -> None:
    ask(claude, "keep me", metadata={"user_id": "u1"})
    newest = sandbox.call("GET", "/_sandbox/model/calls?limit=1").json()[0]
    assert newest["messages"] == [{"role": "user", "content": "keep me"}]
    assert (newest["provider"], newest["metadata"]) == ("anthropic", {"user_id": "u1"})
    assert newest["at"].endswith("Z")


@pytest.mark.parametrize(("kind", "status"), [("error_500", 500), ("error_429", 429), ("down", 503), ("refuse", 400)])
def test_planned_faults_hit_this_provider_only(
    sandbox: Any, claude: anthropic.Anthropic, kind: str, status: int
) -> None:
    sandbox.fault(kind, "model2", times=1)
    ask(claude, "fine")
    sandbox.fault(kind, "model", times=1)
    with pytest.raises(anthropic.APIStatusError) as raised:
        ask(claude, "not fine")
    assert raised.value.status_code == status
    ask(claude, "fine again")


USER = {"role": "user", "content": "hi"}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "get_order", "input": {}}]}


@pytest.mark.parametrize(
    "change",
    [
        {"max_tokens": 0},
        {"max_tokens": None},
        {"model": ""},
        {"messages": []},
        {"messages": [{"role": "system", "content": "x"}]},
        {"messages": [{"role": "user", "content": ""}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
        {"messages": [{"role": "assistant", "content": "x"}]},
        {"messages": [USER, CALL]},
        {"messages": [USER, CALL, USER]},
        {
            "messages": [
                USER,
                CALL,
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": ""}]},
            ]
        },
        {"messages": [USER, {"role": "assistant", "content": [{**CALL["content"][0], "input": None}]}]},  # type: ignore[dict-item]
        {"tools": [{"name": "bad name", "input_schema": {"type": "object"}}]},
        {"tools": [{"name": "x", "input_schema": {"type": "string"}}]},
        {"tools": [GET_ORDER, GET_ORDER]},
        {"system": 5},
    ],
)
def test_what_the_real_api_refuses_is_a_400_here_too(sandbox: Any, change: dict[str, Any]) -> None:
    body = {"model": "m", "max_tokens": 5, "messages": [USER], **change}
    answer = sandbox.client.post("/anthropic/v1/messages", json=body, headers={"x-api-key": "k"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
    assert answer.headers["request-id"] == answer.json()["request_id"]


def test_a_key_is_needed_and_the_body_must_be_json(sandbox: Any) -> None:
    body = {"model": "m", "max_tokens": 5, "messages": [USER]}
    nameless = sandbox.client.post("/anthropic/v1/messages", json=body)
    assert (nameless.status_code, nameless.json()["error"]["type"]) == (401, "authentication_error")
    broken = sandbox.client.post("/anthropic/v1/messages", content=b"{", headers={"x-api-key": "k"})
    assert broken.status_code == 400


def _post(sandbox: Any, text: str, *, stream: bool) -> httpx2.Response:
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": text}], "stream": stream}
    answer: httpx2.Response = sandbox.client.post("/anthropic/v1/messages", json=body, headers={"x-api-key": "k"})
    return answer


def _raw_events(sandbox: Any, text: str) -> list[tuple[str, dict[str, Any]]]:
    frames = _post(sandbox, text, stream=True).text.strip().split("\n\n")
    pairs = [frame.split("\n") for frame in frames]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in pairs]


def test_a_paced_stream_takes_its_time_over_each_event(sandbox: Any, claude: anthropic.Anthropic) -> None:
    script(sandbox, "slowly", {"text": "x" * 100, "pace_ms": 20})
    began = time.monotonic()
    with claude.messages.stream(
        model="claude-sonnet-5-5", max_tokens=500, messages=[{"role": "user", "content": "slowly"}]
    ) as stream:
        came = [time.monotonic() - began for event in stream if event.type == "content_block_delta"]
    assert len(came) == 5
    assert came[-1] - came[0] > 0.06

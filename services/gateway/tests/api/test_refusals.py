"""Whatever a client sends, the answer is a problem document that says what to do, never our failure."""

import asyncio
import json
import socket
from datetime import UTC, datetime
from itertools import product
from typing import Any

import asyncpg
import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEEP = b'{"text":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
BODIES = [
    (b"", 400),
    (b"{", 400),
    (b"\xff\xfe", 400),
    (b'{"text": "\xc3\x28"}', 400),
    (b'{"text": NaN}', 400),
    (b'{"text": ' + b"9" * 5_000 + b"}", 400),
    (DEEP, 400),
    (b"[]", 422),
    (b"null", 422),
    (b'"text"', 422),
    (b"{}", 422),
    (b'{"text": null}', 422),
    (b'{"text": 5}', 422),
    (b'{"text": ["a"]}', 422),
    (b'{"text": ""}', 422),
    (b'{"text": "  \\n "}', 422),
    (b'{"text": "a\\u0000b"}', 422),
    (b'{"text": "\\ud800"}', 422),
    (b'{"text": "hello", "locale": 7}', 422),
    (b'{"text": "hello", "locale": "en\\u0000"}', 422),
    (json.dumps({"text": "x" * 8_001}).encode(), 413),
    (b'{"text": "' + b"x" * 300_000 + b'"}', 413),
]


async def test_every_bad_body_has_its_status_and_stores_nothing(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    path = f"/v1/conversations/{conversation}/messages"
    for n, (body, expected) in enumerate(BODIES):
        headers = {"Idempotency-Key": f"k{n}", "Content-Type": "application/json", "Accept": "application/json"}
        status, problem = await maya.call("POST", path, headers=headers, data=body)
        assert (status, problem["status"]) == (expected, expected), body[:60]
        assert set(problem) == {"type", "title", "status", "detail"}
    assert await world.pool.fetchval("select count(*) from messages") == 0
    assert await world.pool.fetchval("select count(*) from idempotency") == 0


async def test_eight_thousand_characters_of_any_plane_pass(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    assert (await maya.post(conversation, "🫖" * 8_000))[0] == 202


async def test_a_missing_or_odd_key_is_400_and_another_media_type_415(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    path = f"/v1/conversations/{conversation}/messages"
    for key in (None, "", " ", "k" * 256, "ключ".encode().decode("latin-1")):
        headers = {} if key is None else {"Idempotency-Key": key}
        status, _ = await maya.call("POST", path, headers=headers, json={"text": "hello"})
        assert status == 400, key
    for media in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", ""):
        headers = {"Idempotency-Key": "k", "Content-Type": media}
        assert (await maya.call("POST", path, headers=headers, data=b'{"text":"a"}'))[0] == 415, media


ODD_PATHS = [
    "/v1/conversations/%00",
    "/v1/conversations/%ff%fe",
    "/v1/conversations/%",
    "/v1/conversations/%zz/events",
    "/v1/conversations/" + "a" * 5_000,
    "/v1/conversations/..%2f..%2fetc",
    "/v1/conversations/conv'%20or%201=1--/events",
    "/v1/conversations/conv_1/messages/%00/events",
    "/v1/conversations/conv_1/messages/" + "9" * 4_000 + "/events",
    "/v1/nothing",
]
ODD_EVENT_IDS = ("A-0001", "-1", "1.5", "0x1", "\N{FULLWIDTH DIGIT ONE}", "1 2", "9" * 31, "\x01")
BAD_TOKENS = ("", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearer " + "x" * 9_000, "bearer ü")
GUARDED = (("POST", "/v1/conversations"), ("GET", "/v1/conversations/x"), ("GET", "/v1/conversations/x/events"))


async def raw_status(world: Any, path: str, header: bytes = b"") -> int:
    """Send a request as no client library would; 0 for a connection that is closed without an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]))
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer customer:C-1\r\nConnection: close\r\n"
    writer.write(head.encode() + header + b"\r\n")
    line = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    return int(line.split()[1]) if line else 0


async def test_an_odd_path_is_simply_not_there(world: Any) -> None:
    for path in ODD_PATHS:
        assert await raw_status(world, path) in (400, 404), path


async def test_an_odd_last_event_id_is_400(world: Any) -> None:
    conversation = await world.customer("C-1").open()
    for last in ODD_EVENT_IDS:
        header = b"Last-Event-ID: " + last.encode() + b"\r\n"
        assert await raw_status(world, f"/v1/conversations/{conversation}/events", header) == 400, last


async def test_no_valid_token_is_401_and_says_how_to_sign_in(world: Any) -> None:
    """BB-AUTH-04."""
    for (method, path), value in product(GUARDED, BAD_TOKENS):
        async with world.http.request(method, world.url + path, headers={"Authorization": value}) as r:
            assert r.status == 401
            assert r.headers["WWW-Authenticate"] == "Bearer"
    assert await world.pool.fetchval("select count(*) from conversations") == 0


async def test_the_login_being_away_is_503_and_not_401(world: Any) -> None:
    world.login.away = True
    try:
        status, _ = await world.customer("C-fresh").call("POST", "/v1/conversations")
    finally:
        world.login.away = False
    assert status == 503


async def test_a_visitor_writes_without_a_customer_and_reads_only_their_own(world: Any) -> None:
    visitor, other = await world.visitor(), await world.visitor()
    conversation = await visitor.open()
    await visitor.said(conversation, "What is your return policy?")
    [event] = await world.published(1)
    assert (event["visitor"], event["customer_id"], event["assertion"]) == (True, None, None)
    assert (await other.call("GET", f"/v1/conversations/{conversation}"))[0] == 404
    assert (await world.customer("C-1").call("GET", f"/v1/conversations/{conversation}"))[0] == 404


async def test_more_visitors_than_the_limit_from_one_address_are_429(run_gateway: Any) -> None:
    async with run_gateway(visitors_per_10s=2, redis_url="") as world:
        answers = [await world.nobody().call("POST", "/v1/visitors") for _ in range(3)]
        assert [status for status, _ in answers] == [201, 201, 429]
        ends = datetime.fromisoformat(answers[0][1]["expires_at"])
        assert 0 < (ends - datetime.now(UTC)).total_seconds() <= 1_800


async def test_a_login_that_calls_itself_a_visitor_is_nobody(world: Any) -> None:
    assert (await world.customer("visitor:v_1").call("POST", "/v1/conversations"))[0] == 401


async def test_the_stream_says_not_to_buffer_and_keeps_its_heart_beating(world: Any) -> None:
    """BB-SSE-05."""
    maya = world.customer("C-1")
    conversation = await maya.open()
    async with maya.http.get(f"{maya.url}/v1/conversations/{conversation}/events", headers=maya.headers) as r:
        assert "no-transform" in r.headers["Cache-Control"]
        assert r.headers["X-Accel-Buffering"] == "no"
        assert "Content-Encoding" not in r.headers
        line = await asyncio.wait_for(r.content.readline(), 5)
    assert line.startswith(b":")


async def test_streams_that_break_off_leave_no_subscription(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    for _ in range(30):
        r = await maya.http.get(f"{maya.url}/v1/conversations/{conversation}/events", headers=maya.headers)
        r.close()
    async with asyncio.timeout(10):
        while len(world.gateway.hub):  # noqa: ASYNC110 - the server notices a lost client on its own time
            await asyncio.sleep(0.02)


async def test_a_get_starts_no_work(world: Any) -> None:
    """BB-SSE-02."""
    maya = world.customer("C-1")
    conversation = await maya.open()
    await maya.call("GET", f"/v1/conversations/{conversation}/messages/msg_none/events", headers={"Last-Event-ID": "7"})
    assert await world.pool.fetchval("select count(*) from messages") == 0


async def test_half_a_request_does_not_hold_anything_up(world: Any) -> None:
    port = int(world.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as half:
        half.sendall(b"POST /v1/conversations HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
        assert (await world.nobody().call("GET", "/livez"))[0] == 200


async def test_a_database_that_goes_away_is_503_and_the_same_key_works_afterwards(
    world: Any, module_database: Any
) -> None:
    """BB-IDEM-05."""
    maya = world.customer("C-1")
    conversation = await maya.open()
    waiting = """
    select exists (select 1 from pg_locks l join pg_database d on d.oid = l.database
                    where d.datname = current_database() and not l.granted)
    """
    others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    admin = await asyncpg.connect(module_database.dsn("admin"))
    lock = await asyncpg.connect(module_database.dsn("admin"))
    await lock.execute("begin; lock table gateway.conversations")
    posting = asyncio.create_task(maya.post(conversation, "hello", "k"))
    async with asyncio.timeout(10):
        while not await admin.fetchval(waiting):  # noqa: ASYNC110 - another session's wait has no event here
            await asyncio.sleep(0.02)
    await admin.execute(f"select pg_terminate_backend(pid) {others}")
    status, body = await posting
    await admin.close()
    lock.terminate()
    assert (status, body["title"]) == (503, "Try again")
    assert (await maya.post(conversation, "hello", "k"))[0] == 202
    assert await world.pool.fetchval("select count(*) from messages") == 1

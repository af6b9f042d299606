"""A person's decision: bound to version and digest, by somebody allowed, once, on facts as they are now."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from common.consumer import Received
from common.errors import Transient
from common.events import ApprovalDecided
from common.statements import BadStatement
from toolgateway import handlers

KEY = "refund:4417028:L3"
NOBODY = ("refund:9999999:L1", 1)


@pytest.fixture
async def waiting(gateway: Any) -> Any:
    assert (await gateway.refund("L3", "250.00"))["status"] == "awaiting_approval"
    return gateway


async def test_an_approval_runs_the_row_exactly_as_stored(waiting: Any) -> None:
    asked = (await waiting.events("approvals.requested.v1"))[0]
    status, row = await waiting.decide(KEY, 1, digest=asked["digest"])
    assert (status, row["status"], row["approved_by"]) == (200, "succeeded", "dana")
    stored = await waiting.row(KEY)
    assert stored["approved_digest"] == asked["digest"]
    assert stored["decided_at"] <= stored["updated_at"]
    assert [e["cause"] for e in await waiting.events()] == ["proposed", "decided", "settled"]
    assert [e["inline"] for e in await waiting.events()] == [True, False, False]


async def test_a_rejection_moves_no_money_and_is_final(waiting: Any) -> None:
    assert (await waiting.decide(KEY, 1, "reject"))[1]["status"] == "rejected"
    assert (await waiting.decide(KEY, 2))[0] == 409
    assert (await waiting.refund("L3", "250.00"))["status"] == "rejected"
    assert waiting.provider.moved() == []


async def test_bb_appr_01_two_decisions_at_once_decide_once(waiting: Any) -> None:
    got = await asyncio.gather(*(waiting.decide(KEY, 1, d) for d in ("approve", "reject", "approve", "approve")))
    assert sorted(status for status, _ in got) == [200, 409, 409, 409]
    assert len(waiting.provider.moved()) <= 1


@pytest.mark.parametrize(("version", "more"), [(2, {}), (7, {}), (1, {"digest": "0" * 64})])
async def test_a_stale_version_or_another_digest_is_409(waiting: Any, version: int, more: dict[str, str]) -> None:
    assert (await waiting.decide(KEY, version, **more))[0] == 409
    assert waiting.provider.moved() == []


@pytest.mark.parametrize("decision", [None, "", "yes", "APPROVE", True, 1, "approved"])
async def test_a_decision_that_is_neither_is_not_an_approval(waiting: Any, decision: Any) -> None:
    assert (await waiting.decide(KEY, 1, decision))[0] == 422
    assert (await waiting.row(KEY))["status"] == "awaiting_approval"


@pytest.mark.parametrize(("role", "ceiling", "status"), [
    ("viewer", None, 403), ("approver", "249.99", 403), ("approver", "250.00", 200), ("lead", None, 200),
    ("root", None, 403),
])  # fmt: skip
async def test_role_and_ceiling_decide_who_may(waiting: Any, role: str, ceiling: str | None, status: int) -> None:
    assert (await waiting.decide(KEY, 1, staff=waiting.staff("dana", role, ceiling)))[0] == status


@pytest.mark.parametrize(
    ("known", "status"),
    [
        ({"staff": "dana", "role": "approver", "ceiling": None, "active": False}, 403),
        ({"staff": "dana", "role": "viewer", "ceiling": None, "active": True}, 403),
        ({"staff": "dana", "role": "approver", "ceiling": "100.00", "active": True}, 403),
        ({"staff": "someone-else", "role": "lead", "ceiling": None, "active": True}, 503),
        (None, 503),
    ],
)
async def test_the_staff_table_has_the_last_word_at_execution(waiting: Any, known: Any, status: int) -> None:
    statement = waiting.staff("dana", "approver")
    waiting.provider.staff["dana"] = known
    assert (await waiting.decide(KEY, 1, staff=statement))[0] == status
    assert (await waiting.row(KEY))["status"] == "awaiting_approval"
    assert waiting.provider.moved() == []


async def _refunded_by_hand(g: Any) -> None:
    g.provider.record({"order_id": "4417028", "line_id": "L3", "amount_minor": 100, "currency": "USD"}, None)


async def _disputed(g: Any) -> None:
    g.provider.disputed.add("4417028")


async def _cheaper(g: Any) -> None:
    g.provider.orders["4417028"]["lines"][2]["paid"] = "200.00"


async def _moved_house(g: Any) -> None:
    g.provider.orders["4417028"]["address"] = {"line1": "9 Oak Road"}


async def _gone(g: Any) -> None:
    g.provider.orders["4417028"]["customer_id"] = "C-9"


@pytest.mark.parametrize("change", [_refunded_by_hand, _disputed, _cheaper, _moved_house, _gone])
async def test_bb_appr_05_an_order_that_changed_voids_the_approval_and_it_is_asked_anew(
    waiting: Any, change: Any
) -> None:
    await change(waiting)
    status, problem = await waiting.decide(KEY, 1)
    assert status == 409, problem
    assert [r for r in waiting.provider.moved() if r["idempotency_key"] == KEY] == []
    row = await waiting.row(KEY)
    assert (row["status"], row["version"], row["cause"]) == ("awaiting_approval", 2, "voided")
    asked = await waiting.events("approvals.requested.v1")
    assert [a["version"] for a in asked] == [1, 2]
    assert asked[0]["digest"] != asked[1]["digest"]


async def test_a_new_version_can_be_approved_when_only_the_order_changed(waiting: Any) -> None:
    await _moved_house(waiting)
    assert (await waiting.decide(KEY, 1))[0] == 409
    assert (await waiting.decide(KEY, 2))[1]["status"] == "succeeded"
    assert len(waiting.provider.moved()) == 1


async def test_payment_facts_that_cannot_be_read_run_nothing(waiting: Any) -> None:
    waiting.provider.reads_down = True
    assert (await waiting.decide(KEY, 1))[0] == 503
    assert waiting.provider.moved() == []
    assert (await waiting.row(KEY))["version"] == 1


@pytest.mark.parametrize("overrides", [{"approvals_deadline_s": 0.05}])
async def test_an_overdue_row_is_retired_to_the_leads_and_never_to_the_model(waiting: Any, overrides: Any) -> None:
    await asyncio.sleep(0.1)
    assert (await waiting.decide(KEY, 1, staff=waiting.staff("lee", "lead")))[0] == 409
    object.__setattr__(waiting.built.parts.approving, "_approval_s", 3_600)
    status, body = await waiting.send("POST", "/v1/approvals/escalate-overdue", service="reconciler")
    assert (status, body["escalated"]) == (200, 1)
    assert (await waiting.decide(KEY, 1, staff=waiting.staff("lee", "lead")))[0] == 409
    assert (await waiting.decide(KEY, 2, staff=waiting.staff("dana", "approver")))[0] == 403
    [*_, last] = await waiting.events()
    assert (last["status"], last["cause"]) == ("awaiting_approval", "overdue")
    assert (await waiting.events("approvals.requested.v1"))[-1]["queue"] == "leads"
    assert (await waiting.decide(KEY, 2, staff=waiting.staff("lee", "lead")))[1]["status"] == "succeeded"


async def test_staff_tools_run_within_the_ceiling_and_wait_for_another_above_it(gateway: Any) -> None:
    async def act(staff: str, role: str, line: str, amount: str) -> dict[str, Any]:
        about = gateway.staff(staff, role, None, customer_id="C-1001", handoff_id="h1", conversation_id="conv_1")
        args = {"order_id": "4417028", "line_id": line, "amount": amount, "reason": "late"}
        status, body = await gateway.send(
            "POST",
            "/v1/tools/issue_refund",
            {"args": args, "context": {}},
            service="approvals",
            X_Staff_Assertion=about,
        )
        assert status == 200, body
        return dict(body)

    gateway.provider.put_order(
        "4417028", lines=[{"line_id": n, "title": "x", "quantity": 1, "paid": "700.00"} for n in ("L1", "L2", "L3")]
    )
    assert (await act("dana", "approver", "L1", "500.00"))["status"] == "succeeded"
    row = await gateway.row("refund:4417028:L1")
    assert (row["verdict"], row["approved_by"], row["requested_staff"]) == ("staff", "dana", "dana")
    assert (await act("dana", "approver", "L2", "600.00"))["status"] == "awaiting_approval"
    own = gateway.staff("dana", "lead")
    gateway.provider.staff["dana"]["role"] = "lead"
    assert (await gateway.decide("refund:4417028:L2", 1, staff=own))[0] == 403
    assert (await gateway.decide("refund:4417028:L2", 1, staff=gateway.staff("lee", "lead")))[0] == 200
    assert (await act("lee", "lead", "L3", "620.00"))["status"] == "succeeded"
    assert (await act("lee", "lead", "L3", "620.00"))["result"]["repeated"] is True
    assert (await act("lee", "lead", "L3", "80.00"))["result"]["key"] == "refund:4417028:L3~2"
    assert (await act("lee", "lead", "L3", "0.01"))["status"] == "denied"
    assert sum(r["amount_minor"] for r in gateway.provider.moved()) == 50000 + 60000 + 62000 + 8000


async def test_bb_dup_03_staff_who_press_again_read_the_first_action(gateway: Any) -> None:
    about = gateway.staff("dana", "approver", None, customer_id="C-1001", handoff_id="h1")
    args = {"order_id": "4417028", "line_id": "L2", "amount": "30.00", "reason": "late"}
    gateway.provider.faults = ["lost"]
    for expected in (False, True):
        _, body = await gateway.send(
            "POST", "/v1/tools/issue_refund", {"args": args}, service="approvals", X_Staff_Assertion=about
        )
        assert (body["status"], body["result"]["repeated"]) == ("pending", expected)
    assert [r["amount_minor"] for r in gateway.provider.moved()] == [3000]


class StaffLogin:
    """Plays the staff login: its tokens, and the keys it publishes."""

    def __init__(self, keys: Any) -> None:
        self.pem = (keys / "stafflogin.pem").read_text()

    def token(self, age_s: float = 0, ttl_s: float = 600, **over: Any) -> str:
        now = datetime.now(UTC).timestamp()
        claims = {
            "iss": "https://staff.sandbox.local", "aud": ["approvals", "approvals.decided"], "sub": "dana",
            "role": "approver", "iat": int(now - age_s), "exp": int(now - age_s + ttl_s), **over,
        }  # fmt: skip
        return jwt.encode(claims, self.pem, algorithm="EdDSA", headers={"kid": "stafflogin-1"})

    def keys(self) -> dict[str, Any]:
        public = load_pem_private_key(self.pem.encode(), None).public_key()
        jwk = jwt.algorithms.OKPAlgorithm.to_jwk(public, as_dict=True)  # type: ignore[arg-type]
        return {"keys": [{**jwk, "kid": "stafflogin-1", "alg": "EdDSA", "use": "sig"}]}


@pytest.fixture
def login(gateway: Any, keys: Any) -> StaffLogin:
    login = StaffLogin(keys)
    gateway.provider.staff_keys = login.keys()
    gateway.provider.staff["dana"] = {"staff": "dana", "role": "approver", "ceiling": None, "active": True}
    return login


def decided(credential: str, **over: Any) -> list[Received[ApprovalDecided]]:
    event = ApprovalDecided(
        **{"key": KEY, "version": 1, "digest": "", "decision": "approve", "credential": credential, **over}
    )
    return [Received(event, "ev1", KEY, datetime.now(UTC), {})]


async def test_a_staff_programs_decision_from_the_topic_is_carried_out_once(waiting: Any, login: StaffLogin) -> None:
    digest = (await waiting.row(KEY))["digest"]
    for _ in range(3):
        await handlers.on_approvals_decided(waiting.built.parts, decided(login.token(), digest=digest))
    await waiting.built.parts.background.drain(5)
    row = await waiting.row(KEY)
    assert (row["status"], row["approved_by"]) == ("succeeded", "dana")
    assert len(waiting.provider.moved()) == 1


@pytest.mark.parametrize(
    "over",
    [
        {"age_s": 700},
        {"ttl_s": -60},
        {"aud": ["approvals"]},
        {"iss": "https://evil.example"},
        {"role": ""},
        {"sub": None},
    ],
)
async def test_a_bad_or_old_staff_token_decides_nothing(waiting: Any, login: StaffLogin, over: dict[str, Any]) -> None:
    digest = (await waiting.row(KEY))["digest"]
    with pytest.raises(BadStatement):
        await handlers.on_approvals_decided(waiting.built.parts, decided(login.token(**over), digest=digest))
    assert (await waiting.row(KEY))["status"] == "awaiting_approval"


@pytest.mark.parametrize("over", [{"decision": None}, {"decision": "yes"}, {"digest": "0" * 64}, {"version": 9}])
async def test_an_unclear_or_stale_decision_from_the_topic_changes_nothing(
    waiting: Any, login: StaffLogin, over: dict[str, Any]
) -> None:
    digest = (await waiting.row(KEY))["digest"]
    await handlers.on_approvals_decided(waiting.built.parts, decided(login.token(), **{"digest": digest, **over}))
    assert (await waiting.row(KEY))["status"] == "awaiting_approval"
    assert await waiting.pool.fetchval("select count(*) from audit where what = 'decision'") == 1


async def test_a_staff_table_that_is_away_is_tried_again_later(waiting: Any, login: StaffLogin) -> None:
    waiting.provider.staff_away = True
    digest = (await waiting.row(KEY))["digest"]
    with pytest.raises(Transient):
        await handlers.on_approvals_decided(waiting.built.parts, decided(login.token(), digest=digest))
    assert (await waiting.row(KEY))["status"] == "awaiting_approval"


async def test_a_staff_program_decides_for_somebody_who_never_opened_the_console(
    waiting: Any, login: StaffLogin
) -> None:
    waiting.provider.staff.clear()
    digest = (await waiting.row(KEY))["digest"]
    low = login.token(sub="lou", ceiling="1.00")
    await handlers.on_approvals_decided(waiting.built.parts, decided(low, digest=digest))
    assert (await waiting.row(KEY))["status"] == "awaiting_approval", "their own token's ceiling still binds"
    await handlers.on_approvals_decided(waiting.built.parts, decided(login.token(sub="eve"), digest=digest))
    await waiting.built.parts.background.drain(5)
    row = await waiting.row(KEY)
    assert (row["status"], row["approved_by"]) == ("succeeded", "eve")
    assert waiting.provider.staff["eve"]["role"] == "approver", "an audit finds who decided in the staff table"


async def test_while_the_logins_keys_cant_be_read_a_decision_waits(waiting: Any, login: StaffLogin) -> None:
    waiting.provider.staff_keys = {}
    digest = (await waiting.row(KEY))["digest"]
    with pytest.raises(Transient):
        await handlers.on_approvals_decided(waiting.built.parts, decided(login.token(), digest=digest))
    waiting.provider.staff_keys = login.keys()
    await handlers.on_approvals_decided(waiting.built.parts, decided(login.token(), digest=digest))
    await waiting.built.parts.background.drain(5)
    assert (await waiting.row(KEY))["status"] == "succeeded"


async def test_a_stranger_whose_token_isnt_for_approvals_decides_nothing(waiting: Any, login: StaffLogin) -> None:
    waiting.provider.staff.clear()
    digest = (await waiting.row(KEY))["digest"]
    token = login.token(sub="eve", aud=["approvals.decided"])
    await handlers.on_approvals_decided(waiting.built.parts, decided(token, digest=digest))
    assert (await waiting.row(KEY))["status"] == "awaiting_approval"


async def test_somebody_who_left_decides_nothing_with_a_token_they_still_hold(waiting: Any, login: StaffLogin) -> None:
    waiting.provider.staff["dana"]["active"] = False
    digest = (await waiting.row(KEY))["digest"]
    await handlers.on_approvals_decided(waiting.built.parts, decided(login.token(), digest=digest))
    assert (await waiting.row(KEY))["status"] == "awaiting_approval"


async def test_an_unknown_row_is_404(gateway: Any) -> None:
    assert (await gateway.decide(*NOBODY))[0] == 404
    assert (await gateway.send("GET", "/v1/approvals/nothing", service="approvals"))[0] == 404

"""Sessions in mid-run: renewed before they end, never used for another conversation or customer."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.adapters.sessions import Sessions
from common.clock import FixedClock
from common.statements import Signer, session_claims


class Gateway:
    def __init__(self, fresh: str | None) -> None:
        self.fresh, self.asked = fresh, 0

    async def renew(self, assertion: str) -> str | None:
        self.asked += 1
        return self.fresh


def token(keys: Path, ttl_s: float, conversation: str = "conv_1", customer: str = "C-1001") -> str:
    claims = session_claims(customer_id=customer, conversation_id=conversation, channel="chat", verified_by="login")
    signer = Signer.from_file("gateway", keys / "gateway.pem")
    return signer.sign("toolgateway.session", claims, ttl_s, datetime.now(UTC))


def sessions(fresh: str | None = None, *, later_s: float = 0) -> tuple[Sessions, Gateway]:
    gateway = Gateway(fresh)
    any_gateway: Any = gateway
    return Sessions(any_gateway, FixedClock(datetime.now(UTC) + timedelta(seconds=later_s))), gateway


async def test_a_session_with_time_left_is_used_as_it_is(make_work: Any) -> None:
    message = make_work().message
    held, gateway = sessions()
    assert await held.statement(message) == message.assertion
    assert gateway.asked == 0


async def test_one_about_to_end_is_renewed_once_and_the_fresh_one_used_on(make_work: Any, keys: Path) -> None:
    message = make_work().message
    fresh = token(keys, 3_600)
    held, gateway = sessions(fresh, later_s=590)
    assert await held.statement(message) == fresh
    assert await held.statement(message) == fresh
    assert gateway.asked == 1


async def test_when_the_login_is_over_there_is_no_session_left(make_work: Any) -> None:
    held, _ = sessions(None, later_s=700)
    assert await held.statement(make_work().message) is None


@pytest.mark.parametrize("other", [{"conversation": "conv_2"}, {"customer": "C-2002"}])
async def test_a_renewal_for_somebody_else_is_not_used(make_work: Any, keys: Path, other: dict[str, str]) -> None:
    held, _ = sessions(token(keys, 3_600, **other), later_s=590)
    assert await held.statement(make_work().message) is None


@pytest.mark.parametrize("garbage", ["", "a.b.c", "x", "a.e30.c"])
async def test_what_is_no_statement_opens_nothing(make_work: Any, garbage: str) -> None:
    held, _ = sessions(None)
    assert await held.statement(make_work(assertion=garbage).message) is None

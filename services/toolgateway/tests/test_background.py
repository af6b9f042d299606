"""How a stop ends: payments under way get their seconds, once, and the process is gone within its grace."""

import asyncio
import time

from common import stopping
from common.stopping import Deadline
from toolgateway.background import Background


def test_the_parts_of_a_stop_add_up_to_the_whole() -> None:
    assert stopping.HTTP_GRACE_S + stopping.WORK_GRACE_S + stopping.CLOSING_S == stopping.GRACE_S


def test_steps_share_one_deadline() -> None:
    deadline = Deadline(0.05)
    assert 0.04 < deadline.left_s() <= 0.05
    time.sleep(0.06)
    assert deadline.left_s() == 0.0


async def test_a_drain_waits_for_what_is_started_while_it_waits() -> None:
    background, ended = Background(), list[str]()

    async def decision() -> None:
        await asyncio.sleep(0.02)
        background.start(payment())

    async def payment() -> None:
        await asyncio.sleep(0.02)
        ended.append("paid")

    background.start(decision())
    await background.drain(5)
    assert ended == ["paid"]


async def test_a_drain_leaves_what_does_not_end_in_time() -> None:
    background, began = Background(), time.monotonic()
    stuck = background.start(asyncio.sleep(30))
    await background.drain(0.05)
    assert time.monotonic() - began < 1
    assert not stuck.done()
    stuck.cancel()


async def test_with_nothing_left_of_the_grace_a_drain_does_not_wait() -> None:
    background = Background()
    stuck = background.start(asyncio.sleep(30))
    await asyncio.wait_for(background.drain(Deadline(0).left_s()), 1)
    stuck.cancel()

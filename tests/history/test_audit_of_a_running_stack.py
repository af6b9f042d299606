"""`make audit` over the whole product: clean after a bad day, exit 1 once money moved that no row speaks of."""

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from stack.demo.run import read_stack_file
from stack.lifecycle import down, up
from stack.paths import RUN
from tests.integration.world import World

ASK = "My blender arrived damaged, order {}. Please refund the blender."
QUICK = {
    "RECONCILER_PENDING_AFTER_S": "9",
    "RECONCILER_EVERY_S": "1",
    "TOOLGATEWAY_PAYMENTS_TIMEOUT_S": "2",
    "TOOLGATEWAY_PAYMENTS_TRIES": "1",
    "GATEWAY_MESSAGES_PER_10S": "1000",
}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """`make up` in a folder of its own."""
    folder = RUN / f"history-{os.getpid()}"
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)
    try:
        up(folder)
        yield folder
    finally:
        down(folder)
        shutil.rmtree(folder, ignore_errors=True)


def audit(run: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "toolgateway.audit", str(run / "stack.env")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    python = shlex.quote(sys.executable)
    pipe = (
        f"set -o pipefail; {python} -m toolgateway.audit.replies lines {shlex.quote(str(run / 'stack.env'))}"
        f" | {python} -m agent.check_reply | {python} -m toolgateway.audit.replies judge"
    )
    words = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True, check=False, timeout=120)
    text = done.stdout + done.stderr + words.stdout + words.stderr
    return max(done.returncode, words.returncode), text


async def one_customer(world: World, number: int) -> None:
    customer = await world.customer()
    order = await world.order(customer, "64.00")
    if number % 3 == 0:
        fault = {"target": "payments", "kind": "timeout_after_effect", "times": 1, "order_id": order}
        await world.sandbox("POST", "faults", fault)
    conversation = await world.conversation(customer)
    await world.say(customer, ASK.format(order), conversation)
    await world.say(customer, ASK.format(order), conversation)
    await world.say(customer, "I want to talk to a person, please.", conversation)


async def a_bad_day(stack: dict[str, str]) -> None:
    """Twelve customers, lost answers, and services killed in the middle; then time for the reconciler."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=90)) as http:
        world = World(stack, http)
        working = [asyncio.create_task(one_customer(world, number)) for number in range(12)]
        for name in ("toolgateway", "agent-loop", "gateway"):
            await asyncio.sleep(2)
            os.kill(int((Path(stack["PIDS_DIR"]) / f"{name}.pid").read_text()), signal.SIGKILL)
        await asyncio.gather(*working, return_exceptions=True)
        async with asyncio.timeout(120):
            while await world.sql("select 1 from ledger.actions where status = 'pending'"):  # noqa: ASYNC110
                await asyncio.sleep(1)
        # The relay's half minute: from then on an unpublished change is a violation.
        await asyncio.sleep(35)


async def a_payment_by_nobody(stack: dict[str, str]) -> None:
    """The provider pays under our key although no row asked: the bug the audit is for."""
    async with aiohttp.ClientSession() as http:
        world = World(stack, http)
        order = await world.order(await world.customer(), "64.00")
        body = {"order_id": order, "line_id": "L1", "amount_minor": 6400, "currency": "USD"}
        url, headers = f"{stack['SANDBOX_URL']}/payments/v1/refunds", {"Idempotency-Key": f"refund:{order}:L1"}
        async with http.post(url, json=body, headers=headers) as answer:
            answer.raise_for_status()


def test_the_audit_is_clean_after_a_bad_day_and_names_money_that_no_row_speaks_of(run: Path) -> None:
    stack = read_stack_file(run)
    asyncio.run(a_bad_day(stack))
    code, text = audit(run)
    print(text)
    assert code == 0, text
    asyncio.run(a_payment_by_nobody(stack))
    code, text = audit(run)
    assert code == 1, text
    assert "the row says nothing" in text

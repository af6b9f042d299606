"""The agent's figures: its own share of a turn, 200 conversations in flight on one worker, a burst of 200 at once."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import aiohttp
from aiokafka.admin import AIOKafkaAdminClient

from bench.agent.house import Heard, House, Loop, bare, loops_of, own_house, product, running
from bench.agent.neighbours import FIRST_SENTENCE, TALK_SENTENCE
from bench.load import percentile
from bench.report import Report
from bench.usage import resident_mb, usage
from stack.ports import free_port

# The peak of the load model (SPEC §12), and a model that takes about seven seconds a message.
PEAK_PER_S, IN_FLIGHT = 28.0, 200
SECONDS_A_MESSAGE = 7.0
REFUND, TALK = "My blender arrived broken, order 72000001. Please refund it.", "I just wanted to say hello."
_CALLS_A_REFUND = 3
# A burst is served late on a busy machine; what isn't answered by then never will be.
_LOST_AFTER_S = 300.0
_BEGINS = {REFUND: FIRST_SENTENCE, TALK: TALK_SENTENCE}


@dataclass
class Load:
    """What one load brought; times in seconds, the model's own taken off."""

    heard: list[Heard] = field(default_factory=list)
    added: list[float] = field(default_factory=list)
    first_word: list[float] = field(default_factory=list)
    saved: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    in_flight: int = 0
    cpu_s: float = 0.0
    seconds: float = 0.0

    def line(self) -> str:
        """Return counts and percentiles of what the loop added."""
        if not self.added:
            return f"nothing ended; {self.errors[:1]}"
        ended = len(self.added)
        return (
            f"added {_three(self.added)}   CPU {self.cpu_s / ended * 1e3:.1f} ms a turn   "
            f"{ended / self.seconds:.1f}/s   n={ended} errors={len(self.errors)} {self.errors[:1] or ''}"
        )


async def measure(
    stack: dict[str, str], seconds: float, report: Report, per_second: float = PEAK_PER_S, at_once: int = IN_FLIGHT
) -> None:
    """Measure both loops on the servers that ``stack`` names; loops and neighbours are processes of our own."""
    port = free_port()
    connector = aiohttp.TCPConnector(limit=0)
    with running(["bench.agent.neighbours", str(port)], {}):
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=90)) as http:
            house = await own_house(stack, http, f"http://127.0.0.1:{port}")
            await _until(lambda: house.pace(0))
            ours, floor = loops_of(house.prefix)
            listening = asyncio.create_task(house.listen([ours, floor]))
            try:
                await asyncio.sleep(0)
                with product(house, ours):
                    with bare(house, floor):
                        await _beside(house, ours, floor, seconds, report)
                    await _in_flight(house, ours, per_second, seconds, report)
                    await _burst(house, ours, at_once, report)
                    report.say(f"  resident memory of the worker {resident_mb(ours.pid):.0f} MB")
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
                await house.producer.stop()


async def _beside(house: House, ours: Loop, floor: Loop, seconds: float, report: Report) -> None:
    """A refund turn, three model calls that take no time: what is left is the loop's own."""
    for loop in (ours, floor):
        await _until(partial(_steady, house, loop, REFUND, 1, 1), 240)
        await _steady(house, loop, REFUND, 4, 5)
    report.say("\nAgent turn (three model calls, two tools) beside a bare SDK loop, the model's time taken off")
    found: dict[str, tuple[Load, Load]] = {}
    for loop in (floor, ours):
        calm = await _steady(house, loop, REFUND, 4, seconds)
        busy = await _saturated(house, loop, REFUND, 8, 160)
        found[loop.name] = calm, busy
        report.say(f"  {loop.name:10} at 4/s      {calm.line()}")
        report.say(f"  {loop.name:10} 8 clients   {busy.line()}")
    calm, busy = found[ours.name]
    bare_calm, bare_busy = found[floor.name]
    _ratio(report, "added latency p50 at 4/s", percentile(calm.added, 50) / percentile(bare_calm.added, 50))
    _ratio(report, "added latency p95 at 4/s", percentile(calm.added, 95) / percentile(bare_calm.added, 95))
    _ratio(report, "CPU a turn, 8 clients", _cpu(busy) / _cpu(bare_busy))


async def _in_flight(house: House, ours: Loop, per_second: float, seconds: float, report: Report) -> None:
    """An open load of the peak rate: about as many conversations wait for the model as rate times its time."""
    report.say(f"\nOne worker, {per_second:g} messages/s, a model of {SECONDS_A_MESSAGE:g} s a message")
    for name, text, calls in (("talk, one call", TALK, 1), ("refund, three calls", REFUND, _CALLS_A_REFUND)):
        await house.pace(SECONDS_A_MESSAGE / calls)
        load = await _steady(house, ours, text, per_second, max(seconds, 2 * SECONDS_A_MESSAGE))
        report.say(f"  {name:20} {load.line()}   {load.in_flight} in flight at most (goal: p95 added < 150 ms)")
        if load.first_word:
            report.say(
                f"  {'':20} first sentence {_three(load.first_word)} behind the model's own; "
                f"{percentile(load.saved, 50):.2f} s before done (p50)"
            )


async def _burst(house: House, ours: Loop, at_once: int, report: Report) -> None:
    """Everybody at once: nothing is lost, and the worker keeps its place in the group."""
    await house.pace(SECONDS_A_MESSAGE / _CALLS_A_REFUND)
    group = f"{house.prefix}agent-loop"
    before, watch = await _members(house, group), _Watch(house, ours, group)
    watching = asyncio.create_task(watch.run())
    load, spent, began = Load(), usage([ours.pid]), time.perf_counter()
    await asyncio.gather(*(_one(house, ours, REFUND, load, _LOST_AFTER_S) for _ in range(at_once)))
    load.seconds, load.cpu_s = time.perf_counter() - began, usage([ours.pid]) - spent
    await _close(house, load)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    report.say(f"\n{at_once} messages at once, {SECONDS_A_MESSAGE:g} s of model each")
    report.say(f"  {load.line()}   lost {at_once - len(load.added)} (goal 0)")
    same = before == await _members(house, group) and watch.states <= {"Stable"}
    report.say(
        f"  group {'kept its member, stable throughout' if same else f'REBALANCED ({watch.states})'}; "
        f"slowest answer of /livez {max(watch.livez) * 1e3:.0f} ms of {len(watch.livez)} (heartbeats are due every 3 s)"
    )


@dataclass
class _Watch:
    """Looks at the group and at the worker's event loop while a load runs."""

    house: House
    loop: Loop
    group: str
    states: set[str] = field(default_factory=set)
    livez: list[float] = field(default_factory=lambda: [0.0])

    async def run(self) -> None:
        while True:
            began = time.perf_counter()
            async with self.house.http.get(f"{self.loop.url}/livez") as answer:
                await answer.read()
            self.livez.append(time.perf_counter() - began)
            self.states.add((await _describe(self.house, self.group))[0])
            await asyncio.sleep(0.2)


async def _members(house: House, group: str) -> frozenset[str]:
    return (await _describe(house, group))[1]


async def _describe(house: House, group: str) -> tuple[str, frozenset[str]]:
    """Return a consumer group's state and the ids of its members; one thrown out comes back as another."""
    admin = AIOKafkaAdminClient(bootstrap_servers=house.stack["KAFKA_BOOTSTRAP"])
    await admin.start()
    try:
        (answer,) = await admin.describe_consumer_groups([group])
    finally:
        await admin.close()
    (found,) = answer.groups
    return found[2], frozenset(member[0] for member in found[5])


async def _steady(house: House, loop: Loop, text: str, per_second: float, seconds: float) -> Load:
    """Send at a steady rate, whatever becomes of the earlier ones."""
    load, before, started = Load(), usage([loop.pid]), time.perf_counter()
    tasks: set[asyncio.Task[None]] = set()
    for n in range(max(1, int(per_second * seconds))):
        await asyncio.sleep(max(0.0, started + n / per_second - time.perf_counter()))
        tasks.add(asyncio.create_task(_one(house, loop, text, load)))
        load.in_flight = max(load.in_flight, sum(not task.done() for task in tasks))
    await asyncio.gather(*tasks)
    load.seconds, load.cpu_s = time.perf_counter() - started, usage([loop.pid]) - before
    await _close(house, load)
    if not load.added:
        raise OSError(f"{loop.name} answers nothing: {load.errors[:1]}")
    return load


async def _saturated(house: House, loop: Loop, text: str, clients: int, turns: int) -> Load:
    load, before, started = Load(), usage([loop.pid]), time.perf_counter()
    left = iter(range(turns))

    async def client() -> None:
        for _ in left:
            await _one(house, loop, text, load)

    await asyncio.gather(*(client() for _ in range(clients)))
    load.seconds, load.cpu_s = time.perf_counter() - started, usage([loop.pid]) - before
    await _close(house, load)
    return load


async def _one(house: House, loop: Loop, text: str, load: Load, within_s: float = 60.0) -> None:
    try:
        heard = await house.say(loop, text, within_s)
    except TimeoutError:
        load.errors.append(f"no answer in {within_s:g} s")
        return
    if not heard.reply.startswith(_BEGINS[text]):
        load.errors.append(f"not the answer: {heard.reply}"[:200])
        return
    load.heard.append(heard)


async def _close(house: House, load: Load) -> None:
    """Take the model's own time off, as the model booked it."""
    books = await house.books()
    for heard in load.heard:
        load.added.append(heard.done - heard.sent - books["spent"][heard.conversation_id])
        sentence_at = books["sentence_at"].get(heard.conversation_id)
        if sentence_at is not None:
            load.first_word.append(heard.token - sentence_at)
            load.saved.append(heard.done - heard.token)


async def _until(act: Callable[[], Awaitable[object]], seconds: float = 60.0) -> None:
    """Repeat until it works: processes take their time to come up."""
    async with asyncio.timeout(seconds):
        while True:
            with suppress(aiohttp.ClientError, OSError):
                await act()
                return
            await asyncio.sleep(0.2)


def _cpu(load: Load) -> float:
    return load.cpu_s / max(1, len(load.added))


def _three(values: list[float]) -> str:
    return "/".join(f"{percentile(values, q) * 1e3:.1f}" for q in (50, 95, 99)) + " ms"


def _ratio(report: Report, what: str, value: float) -> None:
    report.say(f"  {what:26} {value:5.2f} × the bare loop's (goal ≤ 2)")

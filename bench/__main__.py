"""``make bench``: the product's paths beside their floors, one run, printed and kept in ``.run/bench/report.txt``."""

import argparse
import asyncio
import os
import secrets
import shutil
import signal
import time
from collections.abc import Awaitable
from pathlib import Path

import aiohttp

from bench import hops
from bench.agent.measure import measure as measure_agent
from bench.load import Outcome, Turn, percentile, saturated, steady
from bench.report import Report
from bench.stage import Stage, chain, customers, own_database, own_topics
from bench.turns import chain_turn, fixed_turn, refund_turn
from bench.usage import resident_mb, usage
from common.topics import REPLIES
from stack.demo.run import read_stack_file
from stack.lifecycle import down, up
from stack.paths import RUN

# The peak of the load model (SPEC §12).
PEAK_PER_S = 28.0
_CUSTOMERS = 200
_WARM_UP_TURNS = 100
_PROCESSES = (
    "gateway", "router", "agent-fixed", "agent-rag", "agent-loop", "agent-loop-2", "toolgateway", "approvals",
    "reconciler",
)  # fmt: skip


async def measure(run: Path, seconds: float, report: Report) -> None:
    """Run every measurement on the stack in ``run``."""
    stack = read_stack_file(run)
    kafka, prefix = stack["KAFKA_BOOTSTRAP"], f"bench{secrets.token_hex(3)}."
    dsn = await own_database(stack["DATABASE_URL"])
    await own_topics(
        kafka, [prefix + name for name in ("messages", "work", "replies", REPLIES.name, REPLIES.dlq, hops.ONWARD.name)]
    )
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=90)) as http:
        stage = Stage(stack, http, dsn)
        await customers(stage, _CUSTOMERS)
        report.say("Consumer")
        for line in await hops.measure(kafka, dsn, prefix):
            report.say("  " + line)
        with chain(kafka, dsn, prefix) as (stage.chain_url, stage.chain_pids):
            await _until_up(chain_turn(stage))
            await _fixed(stage, seconds, report)
        await _refunds(stage, report)
        await _recovery(stage, report)
    await measure_agent(stack, seconds, report)
    report.say("\nResident memory, MB: " + ", ".join(f"{p} {resident_mb(stage.pid(p)):.0f}" for p in _PROCESSES))


async def _until_up(turn: Turn) -> None:
    async with asyncio.timeout(30):
        await turn(0)


async def _fixed(stage: Stage, seconds: float, report: Report) -> None:
    product, floor = fixed_turn(stage), chain_turn(stage)
    for turn in (floor, product):
        await saturated(turn, 8, _WARM_UP_TURNS)
    report.say(f"\nFixed flow at {PEAK_PER_S:g} turns/s, {seconds:g} s each, product and chain in turn")
    chain_out, chain_cpu = await _counted(steady(floor, PEAK_PER_S, seconds), stage.chain_pids)
    ours_out, ours_cpu = await _counted(steady(product, PEAK_PER_S, seconds), stage.product_pids())
    report.say(f"  chain    {chain_out.line()}   CPU {chain_cpu * 1e3:.1f} ms a turn")
    report.say(f"  product  {ours_out.line()}   CPU {ours_cpu * 1e3:.1f} ms a turn")
    _ratio(report, "done p95", _p95(ours_out, "done") / _p95(chain_out, "done"), "≤ 2.5")
    _ratio(report, "first event p95", _p95(ours_out, "first") / _p95(chain_out, "first"), "≤ 2.5")
    _ratio(report, "service CPU a turn", ours_cpu / chain_cpu, "≤ 3")
    report.say("\nFixed flow saturated, 48 clients")
    chain_out, chain_cpu = await _counted(saturated(floor, 48, 2_000), stage.chain_pids)
    ours_out, ours_cpu = await _counted(saturated(product, 48, 1_000), stage.product_pids())
    report.say(f"  chain    {chain_out.line()}   CPU {chain_cpu * 1e3:.1f} ms a turn")
    report.say(f"  product  {ours_out.line()}   CPU {ours_cpu * 1e3:.1f} ms a turn")
    _ratio(report, "throughput", ours_out.per_second / chain_out.per_second, "≥ 0.4")


async def _refunds(stage: Stage, report: Report) -> None:
    report.say("\nRefund path with the sandbox's model (three model calls, one payment), 4 clients")
    pids = stage.product_pids("agent-loop", "agent-loop-2")
    outcome, cpu = await _counted(saturated(refund_turn(stage), 4, min(80, _CUSTOMERS)), pids)
    report.say(f"  product  {outcome.line()}   CPU {cpu * 1e3:.1f} ms a turn")


async def _recovery(stage: Stage, report: Report) -> None:
    """Kill the process that answers, then ask: how long until an answer comes?"""
    report.say("\nRecovery after kill -9 (a turn sent at once after it)")
    for n, process in enumerate(("gateway", "router", "agent-fixed", "toolgateway"), start=_CUSTOMERS - 5):
        os.kill(stage.pid(process), signal.SIGKILL)
        started, tries = time.perf_counter(), 0
        while time.perf_counter() - started < 60:
            tries += 1
            if not (await steady(fixed_turn_of(stage, n), 1, 1)).errors:
                break
            await asyncio.sleep(0.2)
        took = time.perf_counter() - started
        report.say(f"  {process:14} right answer after {took:.1f} s, {tries} asked (goal < 10)")


def fixed_turn_of(stage: Stage, who: int) -> Turn:
    """A fixed-flow turn of one given customer."""
    turn = fixed_turn(stage)
    return lambda _: turn(who)


async def _counted(load: Awaitable[Outcome], pids: list[int]) -> tuple[Outcome, float]:
    before = usage(pids)
    outcome = await load
    spent = usage(pids) - before
    return outcome, spent / max(1, len(outcome.timings))


def _p95(outcome: Outcome, what: str) -> float:
    return percentile([getattr(t, what) for t in outcome.timings], 95) if outcome.timings else float("inf")


def _ratio(report: Report, what: str, value: float, goal: str) -> None:
    report.say(f"  {what:22} {value:5.2f} × the chain's (goal {goal})")


def main() -> None:
    """Put the stack up, measure, take it down; the report is kept either way."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="length of each steady load")
    seconds = parser.parse_args().seconds
    run, report = RUN / "bench", Report()
    os.environ.setdefault("GATEWAY_MESSAGES_PER_10S", "1000000")
    down(run)
    shutil.rmtree(run, ignore_errors=True)
    try:
        up(run)
        asyncio.run(measure(run, seconds, report))
    finally:
        down(run)
        run.mkdir(parents=True, exist_ok=True)
        (run / "report.txt").write_text("\n".join(report.lines) + "\n")


if __name__ == "__main__":
    main()

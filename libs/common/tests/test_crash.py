"""Crash points: off unless armed, at the n-th time they are reached, and never outside development."""

import signal

import pytest

from common import crash


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    sent: list[int] = []
    monkeypatch.setattr(crash.os, "kill", lambda _pid, number: sent.append(number))
    yield sent
    crash.disarm()


async def test_a_process_stops_still_at_the_time_its_point_names_and_only_then(
    monkeypatch: pytest.MonkeyPatch, signals: list[int]
) -> None:
    monkeypatch.setenv("CRASH_POINT", "run.before_checkpoint:3,other")
    monkeypatch.setenv("CRASH_ACTION", "freeze")
    crash.arm_from_environment("dev")
    reached = []
    for _ in range(5):
        await crash.crash_point("run.before_checkpoint")
        reached.append(len(signals))
    assert reached == [0, 0, 1, 1, 1]
    await crash.crash_point("other")
    assert signals == [signal.SIGSTOP, signal.SIGSTOP]


async def test_without_the_environment_no_point_does_anything(
    monkeypatch: pytest.MonkeyPatch, signals: list[int]
) -> None:
    monkeypatch.delenv("CRASH_POINT", raising=False)
    crash.arm_from_environment("dev")
    await crash.crash_point("run.before_checkpoint")
    assert signals == []


def test_outside_development_an_armed_point_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRASH_POINT", "run.before_checkpoint")
    with pytest.raises(SystemExit):
        crash.arm_from_environment("prod")

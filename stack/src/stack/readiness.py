"""Asks a server whether it is ready for work, and waits until it says yes."""

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import asyncpg
import redis
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError

from stack.progress import CannotStartError

T = TypeVar("T")


def run_async(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine to its end in a thread of its own, so that a caller inside an event loop can wait for it too."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


def wait_until(ready: Callable[[], bool], within_s: float, name: str, explain: Callable[[], str]) -> None:
    """Polls until `ready`; raises CannotStartError with what `explain` has to say when the time is over."""
    end = time.monotonic() + within_s
    while not ready():
        if time.monotonic() > end:
            raise CannotStartError(f"{name} was not ready within {within_s:.0f} s:\n{explain()}")
        time.sleep(0.1)


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        return False
    return True


def kafka_answers(bootstrap: str) -> bool:
    """True when the broker at `bootstrap` (host:port, several parted by commas) gives its metadata."""
    if not any(_listens(address) for address in bootstrap.split(",")):
        return False  # the client logs an error for every refused connection

    async def ask() -> bool:
        client = AIOKafkaClient(bootstrap_servers=bootstrap, request_timeout_ms=3000)
        try:
            await client.bootstrap()
        except (KafkaError, OSError):
            return False
        finally:
            await client.close()
        return True

    return run_async(ask)


def postgres_answers(dsn: str) -> bool:
    async def ask() -> bool:
        try:
            connection = await asyncpg.connect(dsn, timeout=3)
        except (asyncpg.PostgresError, OSError):
            return False
        await connection.close()
        return True

    return run_async(ask)


def redis_answers(url: str) -> bool:
    client = redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()

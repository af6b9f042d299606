"""The real sandbox and the real tool gateway as processes, once for each round of tasks."""

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
import yaml

from common.statements import SESSION_AUDIENCE, Signer, session_claims
from common.topics import ACCOUNTS_CHANGED, APPROVALS_DECIDED, APPROVALS_REQUESTED, LEDGER_ACTIONS
from stack.readiness import run_async
from tests.conformance import retail
from toolgateway.policy import packaged_policy


@dataclass
class Desk:
    """Hands on a loaded shop: the store's own controls and the tools, as the agent service calls them."""

    http: aiohttp.ClientSession
    sandbox: str
    gateway: str
    keys: Path
    shop: retail.Shop

    async def store(self, method: str, path: str, body: Any = None) -> Any:
        async with self.http.request(method, f"{self.sandbox}/_sandbox/{path}", json=body) as answer:
            assert answer.status < 300, await answer.text()
            return await answer.json()

    async def order(self, order_id: str) -> Any:
        return await self.store("GET", f"orders/{quote(order_id, safe='')}")

    async def about(self, what: str, order_id: str) -> list[dict[str, Any]]:
        """Refunds or labels of an order."""
        return list(await self.store("GET", f"{what}?order_id={quote(order_id, safe='')}"))

    async def load(self) -> None:
        """Put the whole shop into the sandbox, a few at a time."""
        turn = asyncio.Semaphore(16)

        async def put(path: str, body: Any) -> None:
            async with turn:
                await self.store("PUT", path, body)

        await asyncio.gather(*(put(f"customers/{name}", body) for name, body in self.shop.customers.items()))
        await asyncio.gather(*(put(f"orders/{quote(i, safe='')}", body) for i, body in self.shop.orders.items()))

    async def tool(self, customer: str, name: str, args: Any, *verified: str) -> dict[str, Any]:
        """Call a tool for a customer; ``otp`` among ``verified`` is a one-time code the gateway has taken."""
        now = datetime.now(UTC)
        claims = session_claims(
            customer_id=customer, conversation_id=f"conv_{customer}", channel="chat", verified_by="login",
            verified_fields=("login", *verified),
        )  # fmt: skip
        gateway, agent = (Signer.from_file(who, self.keys / f"{who}.pem") for who in ("gateway", "agent"))
        headers = {
            "Authorization": f"Bearer {agent.sign('toolgateway.service', {'sub': 'agent'}, 300, now)}",
            "X-Session-Assertion": gateway.sign(SESSION_AUDIENCE, claims, 300, now),
        }
        body = {"args": args, "context": {"guard": "clean", "intent_confidence": 0.95}}
        async with self.http.post(f"{self.gateway}/v1/tools/{name}", json=body, headers=headers) as answer:
            assert answer.status == 200, await answer.text()
            return dict(await answer.json())


@pytest.fixture(scope="session")
def shop() -> retail.Shop:
    if not (retail.DATA / "db.json").exists():
        pytest.skip("the retail benchmark's data (../shared/data/tau2-retail) is not beside this repository")
    now = datetime.now(UTC)
    return retail.load_shop((now - timedelta(days=9)).isoformat(), (now - timedelta(days=4)).isoformat())


@pytest.fixture(scope="session")
def stocked(shop: retail.Shop, keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a sandbox writes down when the whole shop is put into it, once: each round starts from a copy."""
    folder = tmp_path_factory.mktemp("stocked") / "sandbox"

    async def stock() -> None:
        port = _port()
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http,
            _process("sandbox", _of_sandbox(port, folder, keys)),
        ):
            await _until_ready(http, f"http://127.0.0.1:{port}/livez")
            await Desk(http, f"http://127.0.0.1:{port}", "", keys, shop).load()

    run_async(stock)
    return folder


def _of_sandbox(port: int, folder: Path, keys: Path) -> dict[str, str]:
    return {"SANDBOX_PORT": str(port), "SANDBOX_DATA_DIR": str(folder), "SANDBOX_KEYS_DIR": str(keys)}


@pytest.fixture
async def desk(  # noqa: PLR0917 - fixtures come by name
    shop: retail.Shop, stocked: Path, database: Any, keys: Path, kafka_bootstrap: str, redis_url: str,
    topic_prefix: str, make_topics: Any, tmp_path: Path,
) -> AsyncIterator[Desk]:  # fmt: skip
    """A sandbox that holds the whole shop, before it a tool gateway with a policy that lets any of its orders pass."""
    await make_topics([ACCOUNTS_CHANGED, APPROVALS_DECIDED, APPROVALS_REQUESTED, LEDGER_ACTIONS])
    store, till = _port(), _port()
    sandbox, gateway = f"http://127.0.0.1:{store}", f"http://127.0.0.1:{till}"
    shutil.copytree(stocked, tmp_path / "sandbox")
    of_gateway = {
        "PROFILE": "dev",
        "KAFKA_BOOTSTRAP": kafka_bootstrap,
        "REDIS_URL": redis_url,
        "TOPIC_PREFIX": topic_prefix,
        "KEYS_DIR": str(keys),
        "TOOLGATEWAY_PORT": str(till),
        "TOOLGATEWAY_DATABASE_URL": database.dsn("ledger"),
        "TOOLGATEWAY_COMMERCE_URL": f"{sandbox}/commerce",
        "TOOLGATEWAY_PAYMENTS_URL": f"{sandbox}/payments",
        # Nobody approves here: the limits let everything through.
        "TOOLGATEWAY_APPROVALS_URL": "http://127.0.0.1:9",
        "TOOLGATEWAY_POLICY_FILE": str(_raised_limits(tmp_path / "policy.yaml")),
        "TOOLGATEWAY_ORDER_ID_PATTERN": retail.ORDER_ID_PATTERN,
    }
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as http,
        _process("sandbox", _of_sandbox(store, tmp_path / "sandbox", keys)),
        _process("toolgateway", of_gateway),
    ):
        await _until_ready(http, f"{sandbox}/livez")
        await _until_ready(http, f"{gateway}/readyz")
        yield Desk(http, sandbox, gateway, keys, shop)


def _raised_limits(file: Path) -> Path:
    policy = yaml.safe_load(packaged_policy().read_text())
    policy["version"] = "2026-11-29.99"
    policy["refund"]["limits"]["USD"] = {"automatic": "100000.00", "handoff": "100000.00"}
    file.write_text(yaml.safe_dump(policy))
    return file


@asynccontextmanager
async def _process(module: str, environment: dict[str, str]) -> AsyncIterator[None]:
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, env={**os.environ, **environment},
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        if running.returncode is None:
            running.terminate()
        await running.wait()


async def _until_ready(http: aiohttp.ClientSession, url: str) -> None:
    # A minute: a busy machine takes that long to load a service's code.
    for _ in range(1_200):
        try:
            async with http.get(url) as answer:
                if answer.status == 200:
                    return
        except aiohttp.ClientError:
            pass
        await asyncio.sleep(0.05)
    raise RuntimeError(f"{url} did not get ready")


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

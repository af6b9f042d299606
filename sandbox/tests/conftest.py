"""A sandbox as its own process on a free port, a receiver for its webhooks, and demo data."""

import importlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

# In importlib mode pytest calls this folder's parent "sandbox" too; the package itself has to answer to the name.
if getattr(sys.modules.get("sandbox"), "__file__", None) is None:
    sys.modules.pop("sandbox", None)
    importlib.import_module("sandbox")

SECRET = "whsec_test"


@dataclass
class Sandbox:
    """One sandbox process; ``kill`` is a kill -9, ``start`` brings it back on the same data."""

    data_dir: Path
    port: int
    env: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    client: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx2.Client(base_url=self.url, timeout=20)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_")},
            "SANDBOX_PORT": str(self.port),
            "SANDBOX_DATA_DIR": str(self.data_dir),
            **self.env,
        }
        self.process = subprocess.Popen([sys.executable, "-m", "sandbox"], env=env, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 40
        while time.monotonic() < until:
            try:
                if self.client.get("/readyz").status_code == 200:
                    return
            except httpx2.TransportError:
                time.sleep(0.05)
        raise RuntimeError("the sandbox didn't come up")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        # Pooled connections lead to the dead process.
        self.client.close()
        self.client = httpx2.Client(base_url=self.url, timeout=20)

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> httpx2.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.client.request(method, path, json=body, headers=headers)

    def refund(self, key: str, order_id: str, line_id: str = "L2", minor: int = 6400, **more: Any) -> httpx2.Response:
        body = {"order_id": order_id, "line_id": line_id, "amount_minor": minor, "currency": "USD", "metadata": {}}
        return self.call("POST", "/payments/v1/refunds", {**body, **more}, key)

    def moved(self, order_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.get("/_sandbox/refunds", params={"order_id": order_id}).json()
        return found

    def fault(self, kind: str, target: str = "payments", **more: Any) -> None:
        assert self.call("POST", "/_sandbox/faults", {"target": target, "kind": kind, **more}).status_code == 201

    def close(self) -> None:
        self.client.close()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@dataclass
class Receiver:
    """Takes webhooks: what came, in order; ``refuse`` has the next one about an order answered 500."""

    url: str
    taken: "queue.Queue[tuple[dict[str, str], bytes]]"
    refused: set[str]

    def refuse(self, order_id: str) -> None:
        self.refused.add(order_id)


@pytest.fixture(scope="session")
def receiver() -> Iterator[Receiver]:
    taken: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()
    refused: set[str] = set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            taken.put(({name.lower(): value for name, value in self.headers.items()}, body))
            about = json.loads(body)["data"]["order_id"]
            self.send_response(500 if about in refused else 200)
            refused.discard(about)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Receiver(f"http://127.0.0.1:{server.server_port}/hook", taken, refused)
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def _process(receiver: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    env = {"SANDBOX_WEBHOOK_URL": receiver.url, "SANDBOX_WEBHOOK_SECRET": SECRET, "SANDBOX_HOLD_MS": "150"}
    running = Sandbox(tmp_path_factory.mktemp("sandbox"), free_port(), env)
    running.start()
    yield running
    running.close()


@pytest.fixture
def sandbox(_process: Sandbox) -> Sandbox:
    """The shared process, with no fault, script or persona left from the test before."""
    _process.call("DELETE", "/_sandbox/faults")
    _process.call("DELETE", "/_sandbox/model/scripts")
    _process.call("PUT", "/_sandbox/model/persona", {"persona": "helpful"})
    _process.call("PUT", "/_sandbox/payments/keys", {"mode": "stored"})
    return _process


_numbers = iter(range(7_000_001, 8_000_000))


@pytest.fixture
def order_id(sandbox: Sandbox) -> str:
    """A delivered order of its own for this test, with the demo order's lines."""
    ident = str(next(_numbers))
    assert sandbox.call("PUT", f"/_sandbox/orders/{ident}", demo_order()).status_code == 200
    return ident


@pytest.fixture
def processing_order(sandbox: Sandbox) -> str:
    """An order that hasn't been shipped."""
    ident = str(next(_numbers))
    body = {**demo_order(), "status": "processing", "delivered_at": None}
    assert sandbox.call("PUT", f"/_sandbox/orders/{ident}", body).status_code == 200
    return ident


@pytest.fixture
def fresh_order() -> Any:
    """The body of the demo order, to be changed at will."""
    return demo_order()


def demo_order() -> dict[str, Any]:
    lines = [("L1", "Kettle", "39.00"), ("L2", "Blender", "64.00"), ("L3", "Coffee machine", "250.00")]
    lines.append(("shipping", "Shipping", "7.50"))
    return {
        "customer_id": "C-1001",
        "status": "delivered",
        "currency": "USD",
        "placed_at": "2026-11-01T10:00:00Z",
        "delivered_at": "2026-11-20T10:00:00Z",
        "address": {"line1": "1 Elm Street", "city": "Springfield", "postal_code": "62704", "country": "US"},
        "note": "leave at the door",
        "lines": [{"line_id": ident, "title": title, "quantity": 1, "paid": paid} for ident, title, paid in lines],
    }


@pytest.fixture
def start_with(tmp_path: Path) -> Iterator[Callable[[dict[str, str]], Sandbox]]:
    """Start sandboxes of this test's own, with these settings."""
    started: list[Sandbox] = []

    def start(env: dict[str, str]) -> Sandbox:
        started.append(Sandbox(tmp_path / "data", free_port(), env))
        started[-1].start()
        return started[-1]

    yield start
    for running in started:
        running.close()


@pytest.fixture
def own_sandbox(start_with: Callable[[dict[str, str]], Sandbox]) -> Sandbox:
    """A sandbox that this test may kill."""
    return start_with({"SANDBOX_HOLD_MS": "150"})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

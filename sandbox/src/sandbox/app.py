"""Composition root of the sandbox: one process, one SQLite file, every stand-in of the store."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from fastapi import FastAPI
from jwt.algorithms import OKPAlgorithm

from common.clock import Clock, SystemClock
from common.guard.local import LocalGuard
from common.http import install_problem_handlers
from sandbox.adapters.answers import AnswerBook
from sandbox.adapters.calls import Calls
from sandbox.adapters.choices import Choices
from sandbox.adapters.database import Database
from sandbox.adapters.faults import FaultPlan
from sandbox.adapters.scripts import Scripts
from sandbox.adapters.shop import Shop
from sandbox.adapters.till import Till
from sandbox.adapters.webhooks import Webhooks
from sandbox.routes import commerce, controls, edges, model_controls, models, payments
from sandbox.routes.edges import KeySets
from sandbox.settings import Settings
from sandbox.trouble import Trouble

_ISSUERS = {"login": "https://login.sandbox.local", "stafflogin": "https://staff.sandbox.local"}


def build(settings: Settings, clock: Clock | None = None) -> FastAPI:
    """Wire the sandbox; its state stands in ``settings.data_dir`` and outlives the process."""
    clock = clock or SystemClock()
    database = Database(settings.data_dir / "sandbox.db")
    calls = Calls(settings.data_dir / "calls.db")
    shop, till = Shop(database), Till(database, clock)
    faults, choices, scripts = FaultPlan(database), Choices(database), Scripts(database)
    answers = AnswerBook(database, clock, settings.key_retention_s)
    webhooks = Webhooks(database, clock, settings.webhook_url, settings.webhook_secret)
    trouble = Trouble(database, faults, answers, settings.hold_ms)

    def fail_what_is_due() -> str | None:
        with database.transaction():
            for refund in till.fail_due():
                webhooks.queue("refund.failed", refund)
        return till.next_failure_at()

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        sender = asyncio.create_task(webhooks.run(fail_what_is_due))
        yield
        sender.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sender
        calls.close()
        database.close()

    app = FastAPI(title="Store sandbox", version="1", lifespan=lifespan)
    install_problem_handlers(app)
    app.include_router(controls.router(controls.Controls(shop, till, faults)))
    app.include_router(commerce.router(shop, till, trouble))
    app.include_router(
        payments.router(
            payments.Payments(
                till=till, trouble=trouble, faults=faults, answers=answers, webhooks=webhooks, choices=choices
            )
        )
    )
    app.include_router(
        edges.router(
            edges.Edges(
                database=database, shop=shop, trouble=trouble, clock=clock, guard=LocalGuard(), keys=_key_sets(settings)
            )
        )
    )
    app.include_router(model_controls.router(model_controls.ModelControls(scripts, choices, calls)))
    app.include_router(
        models.router(
            models.Models(
                calls=calls, faults=faults, scripts=scripts, choices=choices, clock=clock, hold_ms=settings.hold_ms
            )
        )
    )
    return app


def _key_sets(settings: Settings) -> KeySets:
    """Return the public key sets of both logins; a missing file leaves an empty one."""
    return {name: {"keys": _public_keys(settings, name, issuer)} for name, issuer in _ISSUERS.items()}


def _public_keys(settings: Settings, name: str, issuer: str) -> list[dict[str, Any]]:
    path = settings.keys_dir / f"{name}.pem" if settings.keys_dir else None
    if path is None or not path.exists():
        return []
    private = load_pem_private_key(path.read_bytes(), password=None)
    public = json.loads(OKPAlgorithm.to_jwk(private.public_key()))  # type: ignore[arg-type]
    return [{**public, "kid": f"{name}-1", "use": "sig", "alg": "EdDSA", "iss": issuer}]

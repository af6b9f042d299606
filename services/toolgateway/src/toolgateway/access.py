"""Who calls: every statement is verified before anything is looked up, and a bad one gets one and the same answer."""

import json
import math
from typing import Any

from fastapi import Request

from common.clock import Clock
from common.http import Problem
from common.statements import BadStatement, Verifier
from toolgateway.asking import Asker, Context
from toolgateway.core.access import JOB_TOOLS, STAFF_TOOLS, may_call, stepped_up
from toolgateway.core.arguments import TOOLS
from toolgateway.core.ceilings import Person

SERVICE_AUDIENCE = "toolgateway.service"
_MAX_BODY = 262_144
_GUARDS = frozenset({"clean", "flagged", "down"})
_RECORDED = ("language", "message_id", "run_id")


class Access:
    """Turns headers into an ``Asker``; raises 401 and 403 problems."""

    def __init__(self, verifier: Verifier, clock: Clock) -> None:
        self._verifier, self._clock = verifier, clock

    def service(self, request: Request, *allowed: str) -> str:
        """Return the calling service; 401 without a good credential, 403 when it isn't one of ``allowed``."""
        try:
            name = self._verifier.service(request.headers.get("authorization"), self._clock.now(), SERVICE_AUDIENCE)
        except BadStatement as e:
            raise _unauthorized() from e
        if allowed and name not in allowed:
            raise Problem(403, "this service's credential does not open this")
        return name

    def asker(self, request: Request, tool: str) -> Asker:
        """Return who asks for a tool, and check that service and statement open it."""
        service = self.service(request)
        if tool not in TOOLS:
            raise Problem(404, "there is no such tool")
        if not may_call(service, tool):
            raise Problem(403, "this service's credential does not open this tool")
        try:
            return self._statement(request, service, tool)
        except BadStatement as e:
            raise _unauthorized() from e

    def staff(self, request: Request) -> Person:
        """Return the member of staff whose statement the approvals service passes on."""
        self.service(request, "approvals")
        try:
            found = self._verifier.staff(request.headers.get("x-staff-assertion"), self._clock.now())
        except BadStatement as e:
            raise _unauthorized() from e
        return Person(found.staff, found.role, found.ceiling)

    def job(self, request: Request) -> tuple[str, str] | None:
        """Return the order (or customer) and kind that the reconciler's job statement names, None where it sent none.

        To resume a row the reconciler's own credential is enough (CONTRACT); a statement beside it narrows it.
        """
        self.service(request, "reconciler")
        statement = request.headers.get("x-job-assertion")
        if statement is None:
            return None
        try:
            found = self._verifier.job(statement, self._clock.now())
        except BadStatement as e:
            raise _unauthorized() from e
        return found.order_id, found.kind

    def customer(self, request: Request) -> Asker:
        """Return whose record is wanted: the agent's signed-in customer, or the one a member of staff serves."""
        service = self.service(request, "agent", "approvals")
        try:
            if service == "approvals":
                return self._staff_asker(request.headers.get("x-staff-assertion"), service)
            return self._session(request.headers.get("x-session-assertion"), service)
        except BadStatement as e:
            raise _unauthorized() from e

    def _statement(self, request: Request, service: str, tool: str) -> Asker:
        session, staff, job = (request.headers.get(f"x-{kind}-assertion") for kind in ("session", "staff", "job"))
        if sum(token is not None for token in (session, staff, job)) != 1:
            raise BadStatement("exactly one statement says for whom this is")
        # Each statement is passed on by one service only: another that holds a copy opens nothing with it.
        if session is not None and service == "agent":
            return self._session(session, service)
        if staff is not None and service == "approvals" and tool in STAFF_TOOLS:
            return self._staff_asker(staff, service)
        if job is not None and service == "reconciler":
            found = self._verifier.job(job, self._clock.now())
            if tool in JOB_TOOLS.get(found.kind, frozenset()):
                return Asker(service, None, None, job_order_id=found.order_id)
        raise BadStatement("this statement does not open this tool for this service")

    def _session(self, token: str | None, service: str) -> Asker:
        found = self._verifier.session(token, self._clock.now())
        return Asker(
            service,
            found.customer_id,
            found.conversation_id,
            stepped_up=stepped_up(found.verified_by, found.verified_fields),
        )

    def _staff_asker(self, token: str | None, service: str) -> Asker:
        found = self._verifier.staff(token, self._clock.now())
        if not found.customer_id:
            raise BadStatement("the statement names no customer")
        return Asker(
            service, found.customer_id, found.conversation_id, person=Person(found.staff, found.role, found.ceiling)
        )


def _unauthorized() -> Problem:
    return Problem(401, "a valid credential and statement are required", headers={"WWW-Authenticate": "Bearer"})


async def read_body(request: Request) -> dict[str, Any]:
    """Return the request's JSON object; 413 when too large, 422 when it isn't one (NaN is no JSON)."""
    raw = await request.body()
    if len(raw) > _MAX_BODY:
        raise Problem(413, "the body is too large")
    try:
        body = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as e:
        raise Problem(422, "the body is not valid JSON") from e
    if not isinstance(body, dict):
        raise Problem(422, "the body must be an object")
    return body


def read_context(body: dict[str, Any]) -> Context:
    """Return the call's context: what isn't a clear word or number counts at its worst."""
    raw = body.get("context", {})
    if not isinstance(raw, dict):
        raise Problem(422, "context must be an object")
    guard = raw.get("guard")
    return Context(
        guard=guard if isinstance(guard, str) and guard in _GUARDS else None,
        intent_confidence=_number(raw.get("intent_confidence")),
        recorded={
            name: value[:200].replace("\x00", "") for name in _RECORDED if isinstance(value := raw.get(name), str)
        },
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")

"""The agent service's owner API as a neighbour's tests need it; ``test_owner_contract`` holds it and the real one."""

from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse

from common.clock import Clock
from common.http import problem
from common.statements import BadStatement, Verifier

Json = dict[str, Any]


@dataclass
class Talk:
    """One conversation: who has it, and every handoff it had, the newest last."""

    status: str = "active"
    owner: str = "agent"
    owner_version: int = 1
    handoffs: list[str] = field(default_factory=list)
    customer_id: str | None = "C-1001"

    @property
    def open_handoff(self) -> str | None:
        return self.handoffs[-1] if self.handoffs and self.status == "with_person" else None

    def answer(self) -> Json:
        return {
            "status": self.status,
            "owner": self.owner,
            "owner_version": self.owner_version,
            "handoff_id": self.open_handoff,
        }


@dataclass
class FakeOwners:
    """``talks`` by conversation; ``changes`` are the moves that were let through, ``announced`` the handoffs opened."""

    verifier: Verifier
    clock: Clock
    talks: dict[str, Talk] = field(default_factory=dict)
    changes: list[Json] = field(default_factory=list)
    announced: list[tuple[str, str]] = field(default_factory=list)

    def open_handoff(self, conversation_id: str, handoff_id: str) -> None:
        """The agent hands over: from now on it waits for people."""
        talk = self.talks.setdefault(conversation_id, Talk())
        assert talk.owner == "agent", "only what is the agent's is handed over"
        talk.status, talk.owner = "with_person", "people"
        talk.owner_version += 1
        talk.handoffs.append(handoff_id)

    def ensure_handoff(self, conversation_id: str, handoff_id: str) -> None:
        """The conversation had this handoff: opened now, unless it was before."""
        if handoff_id not in self.talks.setdefault(conversation_id, Talk()).handoffs:
            self.open_handoff(conversation_id, handoff_id)

    def router(self) -> APIRouter:
        router = APIRouter()

        @router.get("/v1/conversations/{conversation_id}")
        async def read(conversation_id: str, request: Request) -> Any:
            talk = self.talks.get(conversation_id)
            if refused := self._refuse(request):
                return refused
            if talk is None:
                return problem(404, "there is no such conversation")
            transcript = [{"from": "customer", "text": "<b>hi</b>"}]
            about = {"conversation_id": conversation_id, "customer_id": talk.customer_id}
            return {**about, **talk.answer(), "transcript": transcript}

        @router.post("/v1/conversations/{conversation_id}/owner")
        async def move(conversation_id: str, request: Request) -> Any:
            talk, wish = self.talks.get(conversation_id), await request.json()
            if refused := self._refuse(request):
                return refused
            if talk is None:
                return problem(404, "there is no such conversation")
            if wish.get("succeeds") and None in (wish.get("expected_owner_version"), wish.get("handoff_id")):
                return problem(422, "succeeds whom?")
            if wish.get("expected_owner_version") not in (None, talk.owner_version):
                return problem(409, "the owner has changed")
            if why := self._move(conversation_id, talk, wish):
                return problem(409, why)
            self.changes.append({"conversation_id": conversation_id, **wish})
            return talk.answer()

        return router

    def _refuse(self, request: Request) -> JSONResponse | None:
        try:
            caller = self.verifier.service(request.headers.get("Authorization"), self.clock.now(), "agent.service")
        except BadStatement as e:
            return problem(401, e.reason)
        return None if caller == "approvals" else problem(403, f"{caller} may not call this")

    def _move(self, conversation_id: str, talk: Talk, wish: Json) -> str | None:
        staff, action = wish["staff"], wish["action"]
        if staff in ("agent", "people"):
            return "no person"
        over = wish.get("handoff_id") not in (None, talk.open_handoff)
        free = talk.status == "with_person" and talk.owner in ("people", staff, wish.get("succeeds"))
        if action == "takeover":
            if talk.owner == "agent":
                self.open_handoff(conversation_id, f"ho_{conversation_id}_{talk.owner_version}")
                talk.owner_version -= 1
            self.announced.append((conversation_id, talk.handoffs[-1]))
            self._become(talk, "with_person", staff)
        elif over:
            return "this handoff is over" if action == "claim" else None
        elif not free and not (action == "close" and talk.owner == "agent"):
            return f"{talk.owner} has this conversation"
        elif action == "claim":
            self._become(talk, "with_person", staff)
        else:
            self._become(talk, "active" if action == "return" else "closed", "agent")
        return None

    @staticmethod
    def _become(talk: Talk, status: str, owner: str) -> None:
        if (talk.status, talk.owner) != (status, owner):
            talk.status, talk.owner = status, owner
            talk.owner_version += 1


def fake_app(owners: FakeOwners) -> FastAPI:
    """Serve the fake alone."""
    app = FastAPI()
    app.include_router(owners.router())
    return app

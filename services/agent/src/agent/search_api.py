"""The help-center search over HTTP, for the tool gateway's callers that aren't the agent itself."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query

from agent.adapters.search_index import SearchIndex
from common.clock import Clock
from common.http import Problem
from common.statements import BadStatement, Verifier

Json = dict[str, Any]
_AUDIENCE = "agent.service"


def passages_of(index: SearchIndex, question: str, language: str, k: int = 4) -> list[Json]:
    """Return passages as JSON: ``{"article_id","title","url","text","score"}``, best first; none if none is near."""
    found = index.search(question, language, k)
    if not found.answerable:
        return []
    return [
        {"article_id": p.article_id, "title": p.title, "url": p.url, "text": p.text, "score": round(p.score, 3)}
        for p in found.passages
    ]


def search_routes(index: SearchIndex, verifier: Verifier, clock: Clock) -> APIRouter:
    """Return ``GET /v1/help-center/search?q=&language=``."""
    router = APIRouter()

    @router.get("/v1/help-center/search")
    async def search(
        q: Annotated[str, Query(max_length=2_000)],
        language: Annotated[str, Query(max_length=10)] = "en",
        authorization: Annotated[str | None, Header()] = None,
    ) -> Json:
        try:
            verifier.service(authorization, clock.now(), _AUDIENCE)
        except BadStatement as error:
            raise Problem(401, error.reason) from error
        return {"passages": passages_of(index, q, language)}

    return router

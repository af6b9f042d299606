"""The agent service's help-center search, for callers of the tool API that aren't the agent itself."""

from typing import Any

from common.clock import Clock
from common.errors import Transient
from common.statements import ServiceCredentials
from toolgateway.adapters.calls import Caller


class HelpCenter:
    """Searches over HTTP; ``caller`` is None where no search endpoint is configured."""

    def __init__(self, caller: Caller | None, path: str, credentials: ServiceCredentials, clock: Clock) -> None:
        self._caller, self._path, self._credentials, self._clock = caller, path, credentials, clock

    async def search(self, query: str, language: str) -> dict[str, Any]:
        """Return ``{"passages": [...]}`` as the search gives them; Transient when there is no search to ask."""
        if self._caller is None:
            raise Transient("no help-center search is configured")
        body = await self._caller.read(
            "search",
            self._path,
            params={"q": query, "language": language},
            headers={"Authorization": self._credentials.bearer(self._clock.now())},
        )
        return body if isinstance(body, dict) else {"passages": body}

"""The one way a request is told no: a status and words that go into a problem document."""


class Rejected(Exception):  # noqa: N818 - a valid answer, not a failure
    """A 4xx or 503 in the making; ``retry_after_s`` becomes the header of that name."""

    def __init__(self, status: int, title: str, detail: str = "", *, retry_after_s: int | None = None) -> None:
        super().__init__(detail or title)
        self.status, self.title, self.detail, self.retry_after_s = status, title, detail, retry_after_s


def unauthenticated(detail: str = "A valid bearer token is required.") -> Rejected:
    """Nobody we can name: the same words for every reason, so that a probe learns nothing."""
    return Rejected(401, "Not signed in", detail)


def not_found() -> Rejected:
    """Missing and somebody else's read alike."""
    return Rejected(404, "Not found", "There is no such conversation or message.")

"""``python -m sandbox`` serves every stand-in on one port."""

import uvicorn

from sandbox.app import build
from sandbox.settings import Settings


def main() -> None:
    """Serve until SIGTERM; answers that hang on purpose are cut after a second."""
    settings = Settings()
    uvicorn.run(
        build(settings),
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
        # Longer than any client keeps an idle connection: closing under its next request would look like a lost answer.
        timeout_keep_alive=75,
        backlog=4096,
    )


if __name__ == "__main__":
    main()

"""`python -m gateway` serves; `python -m gateway openapi` prints the OpenAPI document."""

import asyncio
import sys

from common.service import run as run_service
from gateway import app, document
from gateway.settings import Settings


def main() -> None:
    """Do what the command line says."""
    if sys.argv[1:] == ["openapi"]:
        sys.stdout.write(document.text())
        return
    settings = Settings()

    async def serve(stop: asyncio.Event) -> None:
        await app.run(settings, stop)

    run_service("gateway", serve, profile=settings.profile)


if __name__ == "__main__":
    main()

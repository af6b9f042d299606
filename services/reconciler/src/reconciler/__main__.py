"""``python -m reconciler`` runs the service."""

from functools import partial

from common.service import run
from reconciler.app import main
from reconciler.settings import Settings

if __name__ == "__main__":
    settings = Settings()
    run("reconciler", partial(main, settings), profile=settings.profile)

"""``python -m approvals`` runs the service; ``python -m approvals openapi`` prints its contract."""

from functools import partial

from approvals.app import main
from approvals.settings import Settings
from common.service import run

if __name__ == "__main__":
    settings = Settings()
    run("approvals", partial(main, settings), profile=settings.profile)

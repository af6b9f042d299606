"""``python -m approvals`` runs the service; ``python -m approvals openapi`` prints its HTTP contract."""

import sys
from functools import partial

from approvals import document
from approvals.app import main
from approvals.settings import Settings
from common.service import run

if __name__ == "__main__":
    if sys.argv[1:] == ["openapi"]:
        sys.stdout.write(document.text())
    else:
        settings = Settings()
        run("approvals", partial(main, settings), profile=settings.profile)

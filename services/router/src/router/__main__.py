"""``python -m router`` runs the service."""

from common.service import run
from common.settings import BusSettings
from router.app import main

if __name__ == "__main__":
    run("router", main, profile=BusSettings().profile)

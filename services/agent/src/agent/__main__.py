"""``python -m agent fixed|rag|loop``: three deployments of one image."""

import sys

from agent.app import PARTS, main
from agent.settings import BusSettings
from common import service

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        raise SystemExit(f"usage: python -m agent {'|'.join(PARTS)}")
    part = PARTS[PARTS.index(sys.argv[1])]
    service.run(f"agent-{part}", lambda stop: main(part, stop), profile=BusSettings().profile)

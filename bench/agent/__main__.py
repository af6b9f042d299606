"""``python -m bench.agent``: the agent's own cost, its steady load and its burst; ``make bench`` runs it as well."""

import argparse
import asyncio
import tempfile
from pathlib import Path

from bench.agent.measure import IN_FLIGHT, PEAK_PER_S, measure
from bench.report import Report
from stack.keys import make_keys
from stack.session import session_servers


def main() -> None:
    """Measure on servers of its own, or on those of STACK_KAFKA, STACK_DATABASE and STACK_REDIS."""
    parser = argparse.ArgumentParser(prog="python -m bench.agent", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="length of each steady load")
    parser.add_argument("--per-second", type=float, default=PEAK_PER_S, help="messages a second of the steady load")
    parser.add_argument("--at-once", type=int, default=IN_FLIGHT, help="messages of the burst")
    args = parser.parse_args()
    with session_servers() as servers, tempfile.TemporaryDirectory() as folder:
        stack = {
            "KAFKA_BOOTSTRAP": servers.addresses["kafka"],
            "DATABASE_URL": servers.addresses["postgres"],
            "REDIS_URL": servers.addresses["redis"],
            "KEYS_DIR": str(make_keys(Path(folder))),
        }
        asyncio.run(measure(stack, args.seconds, Report(), args.per_second, args.at_once))


if __name__ == "__main__":
    main()

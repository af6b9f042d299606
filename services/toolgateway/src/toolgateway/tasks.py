"""``python -m toolgateway.tasks``: what only a person can finish, for whoever operates the till.

list [closed]                  open tasks, the oldest first, or closed ones; one JSON object a line
close 17 refunded by hand …    close a task; who and why are recorded

Logs in as ``OPERATOR_DATABASE_URL`` says. Money that matches nothing and is still there after a task was closed opens
another with the next comparison.
"""

import asyncio
import getpass
import json
import os
import sys
from typing import Any

from common import db
from common.errors import Malformed, Refused
from toolgateway.adapters import operations
from toolgateway.core.tasks import read_why, shown_task

_MOST = 1_000


async def carry_out(pool: db.Database, arguments: list[str], who: str) -> list[dict[str, Any]]:
    """Carry out one command and return the tasks it is about; raises Malformed or Refused."""
    match arguments:
        case ["list"] | ["list", "open"]:
            found = await operations.list_tasks(pool, open_ones=True, limit=_MOST)
        case ["list", "closed"]:
            found = await operations.list_tasks(pool, open_ones=False, limit=_MOST)
        case ["close", number, *words] if number.isascii() and number.isdecimal() and read_why(" ".join(words)):
            closed = await operations.close_task(pool, int(number), f"operator:{who}", read_why(" ".join(words)) or "")
            if closed is None:
                raise Refused(f"task {number} is not open")
            found = [closed]
        case _:
            raise Malformed(__doc__ or "")
    return [shown_task(task) for task in found]


async def _main(arguments: list[str]) -> int:
    pool = await db.open_pool(os.environ["OPERATOR_DATABASE_URL"], "ledger", min_size=1, max_size=1)
    try:
        for task in await carry_out(pool, arguments, getpass.getuser()):
            print(json.dumps(task, ensure_ascii=False))
    except (Malformed, Refused) as e:
        print(e.reason, file=sys.stderr)
        return 2
    finally:
        await pool.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_main(sys.argv[1:])))

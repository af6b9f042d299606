"""``python -m toolgateway.switch``: the operator's kill switch and the ceilings on automatic money, thrown in seconds.

Logs in as ``OPERATOR_DATABASE_URL`` says: the service's own login may read the switch and not move it.

status                          show what is set
on | approval | stop            run normally · all money to approval (also ``off``) · nothing changes at all
ceiling USD 50000.00 400000.00  automatic money per hour and day in one currency, over the policy's own
"""

import asyncio
import getpass
import json
import os
import sys
from typing import Any

from common import db
from common.errors import Malformed
from common.money import parse_amount
from toolgateway.adapters import operations

_MODES = {"on": "on", "off": "approval", "approval": "approval", "stop": "stop"}


async def throw(pool: db.Database, arguments: list[str], who: str) -> dict[str, Any]:
    """Carry out one command and return what is set afterwards; raises Malformed for anything it doesn't know."""
    match arguments:
        case ["status"]:
            pass
        case [mode] if mode in _MODES:
            await _save(pool, who, mode=_MODES[mode])
        case ["ceiling", currency, hour, day]:
            parse_amount(hour, currency), parse_amount(day, currency)
            ceilings = dict((await operations.load_controls(pool))["ceilings"])
            ceilings[currency] = {"hour": hour, "day": day}
            await _save(pool, who, ceilings=ceilings)
        case _:
            raise Malformed(__doc__ or "")
    return await operations.load_controls(pool)


async def _save(
    pool: db.Database, who: str, *, mode: str | None = None, ceilings: dict[str, Any] | None = None
) -> None:
    async with pool.acquire() as conn, conn.transaction():
        await operations.save_controls(conn, mode, ceilings, who)


async def _main(arguments: list[str]) -> int:
    pool = await db.open_pool(os.environ["OPERATOR_DATABASE_URL"], "ledger", min_size=1, max_size=1)
    try:
        print(json.dumps(await throw(pool, arguments, getpass.getuser()), default=str))
    except Malformed as e:
        print(e.reason, file=sys.stderr)
        return 2
    finally:
        await pool.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_main(sys.argv[1:])))

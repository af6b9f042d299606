"""``python -m toolgateway.retention [YYYY-MM-DD]``: drop the months of history that ended before that day.

Without a day: seven years ago today, the youngest the database lets go. Logs in with ``LEDGER_OWNER_DATABASE_URL``, the
migrator's login; no service has it, and the services' own login is refused. Prints what was dropped, one name a line.
"""

import asyncio
import os
import sys
from datetime import UTC, date, datetime

import asyncpg

_YEARS = 7


async def drop_old_history(dsn: str, before: date) -> list[str]:
    """Drop the months before ``before`` and return their names; raises PostgresError for a younger day or login."""
    conn = await asyncpg.connect(dsn, server_settings={"application_name": "retention"})
    try:
        async with conn.transaction():
            # A drop that waits for a reader makes every write behind it wait too.
            await conn.execute("set local lock_timeout = '5s'")
            rows = await conn.fetch("select name from ledger.drop_old_history($1) as dropped(name)", before)
    finally:
        await conn.close()
    return [row["name"] for row in rows]


def seven_years_before(today: date) -> date:
    """Return the same day seven years ago; a leap day's is the first of March."""
    try:
        return today.replace(year=today.year - _YEARS)
    except ValueError:
        return date(today.year - _YEARS, 3, 1)


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    dsn = os.environ.get("LEDGER_OWNER_DATABASE_URL", "")
    try:
        before = date.fromisoformat(arguments[0]) if arguments else seven_years_before(datetime.now(UTC).date())
    except ValueError:
        dsn = ""
    if not dsn or len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        dropped = asyncio.run(drop_old_history(dsn, before))
    except (asyncpg.PostgresError, OSError) as e:
        print(f"retention: nothing was dropped: {e}", file=sys.stderr)
        return 1
    print("\n".join(dropped))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

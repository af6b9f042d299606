"""What the models were really sent: the newest request bodies, kept apart from the log of money."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# A long evaluation's worth; older ones are dropped so that a bench can't fill the disk.
_KEPT = 10_000
_PRUNE_EVERY = 500


class Calls:
    """An append-mostly list of JSON texts, newest first when read."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        # NORMAL survives a kill -9; only a power cut could lose the newest, and nobody's money hangs on these.
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = normal")
        self._connection.execute(
            "create table if not exists calls (seq integer primary key autoincrement, body text not null)"
        )

    def add(self, body: Any, provider: str, at: str) -> None:
        """Keep one request body."""
        item = {**(body if isinstance(body, dict) else {"body": body}), "provider": provider, "at": at}
        cursor = self._connection.execute("insert into calls (body) values (?)", (json.dumps(item),))
        if cursor.lastrowid and cursor.lastrowid % _PRUNE_EVERY == 0:
            self._connection.execute("delete from calls where seq <= ?", (cursor.lastrowid - _KEPT,))

    def newest_first(self, limit: int) -> Iterator[str]:
        """Yield the items as JSON texts; reads on a connection of its own, so it may run in another thread."""
        reader = sqlite3.connect(self._path, check_same_thread=False)
        try:
            for (body,) in reader.execute("select body from calls order by seq desc limit ?", (limit,)):
                yield body
        finally:
            reader.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

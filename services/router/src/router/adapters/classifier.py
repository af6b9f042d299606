"""The port through which handlers read messages, and the local reader behind it, kept off the event loop."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from router.adapters.local import LocalReader
from router.core.reading import Asked, Reading


class Classifier(Protocol):
    """Reads a batch of messages; one reading each, in order."""

    async def read_all(self, asked: Sequence[Asked]) -> list[Reading]: ...

    async def close(self) -> None: ...


class LocalClassifier:
    """Runs the local reader in one thread of its own: a batch may take 60 ms, and its cache is not for two threads."""

    def __init__(self, reader: LocalReader) -> None:
        self._reader = reader
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader")

    async def read_all(self, asked: Sequence[Asked]) -> list[Reading]:
        """Read the batch; the loop stays free meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._reader.read_all, asked)

    async def close(self) -> None:
        """Let the batch in hand end."""
        self._thread.shutdown(wait=True)

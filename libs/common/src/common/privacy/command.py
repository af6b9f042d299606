"""The command line that every part shares: ``find``, ``check``, ``export`` and ``erase`` of one customer.

find CUSTOMER            what this part knows the customer by: one line of JSON
check CUSTOMER           what has to end before an erasure, one line each; exit 3 when there is any
export CUSTOMER          everything held about them, one JSON object a line
erase CUSTOMER           make it gone and print the counts; exit 3, and nothing is touched, while something is open

--known                  a line of ``find`` on standard input: what other parts found
--as NAME                the name the record of this erasure gets (erased- and 16 hexadecimal digits), else a new one
"""

import argparse
import asyncio
import json
import re
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import IO, Any, Protocol

from common.db import dump_json
from common.errors import Refused, Verdict
from common.privacy.subject import Subject, without_secrets

Json = dict[str, Any]
UNFINISHED = 3
# As the ledger's own function takes it, so that no customer's id ends up in the record of their erasure.
_PSEUDONYM = re.compile(r"erased-[0-9a-f]{16}")


class Unfinished(Refused):
    """Something of the customer's is still under way; ``reasons`` says what."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class Holdings(Protocol):
    """What one part of the product holds of a customer."""

    async def find(self, subject: Subject) -> Subject:
        """Return the subject with what this part knows the customer by."""
        ...

    async def unfinished(self, subject: Subject) -> list[str]:
        """Return what has to end before an erasure, in words that name no personal data."""
        ...

    def export(self, subject: Subject) -> AsyncIterator[Json]:
        """Yield everything held."""
        ...

    async def erase(self, subject: Subject, pseudonym: str) -> Json:
        """Make it gone; harmless when repeated. Returns counts by table. Raises Unfinished, then nothing is gone."""
        ...


def new_pseudonym() -> str:
    """Return a name that nothing leads back to anybody from."""
    return f"erased-{secrets.token_hex(8)}"


def main(part: str, opened: Callable[[], AbstractAsyncContextManager[Holdings]], argv: list[str]) -> int:
    """Run one command of ``part``; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {part}.privacy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=sorted(_VERBS))
    parser.add_argument("customer", metavar="CUSTOMER")
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--as", dest="pseudonym", default="")
    arguments = parser.parse_args(argv)
    if arguments.pseudonym and not _PSEUDONYM.fullmatch(arguments.pseudonym):
        print(f"{part}: a name is erased- and 16 hexadecimal digits", file=sys.stderr)
        return 2
    try:
        subject = Subject(customer_id=arguments.customer)
        if arguments.known:
            subject = subject.with_more(Subject.model_validate_json(sys.stdin.read()))
    except ValueError as e:
        print(f"{part}: {e}", file=sys.stderr)
        return 2
    verb = _VERBS[arguments.verb]
    try:
        return asyncio.run(_run(opened, verb, part, subject, arguments.pseudonym or new_pseudonym()))
    except (Verdict, OSError) as e:
        print(f"{part}: not done, run it again: {e}", file=sys.stderr)
        return 1


async def _run(
    opened: Callable[[], AbstractAsyncContextManager[Holdings]], verb: "_Verb", part: str, subject: Subject, name: str
) -> int:
    async with opened() as holdings:
        return await verb(holdings, part, subject, name, sys.stdout)


async def _find(holdings: Holdings, _: str, subject: Subject, __: str, out: IO[str]) -> int:
    print((await holdings.find(subject)).line(), file=out)
    return 0


async def _check(holdings: Holdings, part: str, subject: Subject, _: str, out: IO[str]) -> int:
    return _refused(part, await holdings.unfinished(await holdings.find(subject)), out)


async def _export(holdings: Holdings, part: str, subject: Subject, _: str, out: IO[str]) -> int:
    async for item in holdings.export(await holdings.find(subject)):
        # Read back first: what a column holds may itself be a value JSON has no form for.
        plain = without_secrets(json.loads(dump_json(item)))
        print(json.dumps({"part": part, **plain}, ensure_ascii=False), file=out)
    return 0


async def _erase(holdings: Holdings, part: str, subject: Subject, pseudonym: str, out: IO[str]) -> int:
    try:
        counts = await holdings.erase(await holdings.find(subject), pseudonym)
    except Unfinished as e:
        return _refused(part, e.reasons, out)
    print(json.dumps({"part": part, "erased": counts}), file=out)
    return 0


def _refused(part: str, reasons: list[str], out: IO[str]) -> int:
    for reason in reasons:
        print(json.dumps({"part": part, "unfinished": reason}, ensure_ascii=False), file=out)
    return UNFINISHED if reasons else 0


_Verb = Callable[[Holdings, str, Subject, str, IO[str]], Awaitable[int]]
_VERBS: dict[str, _Verb] = {"find": _find, "check": _check, "export": _export, "erase": _erase}

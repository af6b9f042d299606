"""`make export-customer` and `make erase-customer`: every part's own command against the running stack, in order.

What is done here by hand for one machine is the runbook of a cluster (docs/runbooks/privacy.md): find, check, erase
where messages are answered first, then the dead letters, and where messages come in last.
"""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stack.demo.run import read_stack_file
from stack.environment import Stack, process_environment
from stack.progress import CannotStartError
from stack.secrets_file import keep_secrets

# Part → the process whose environment it runs in; `common` is the topics. The order is that of an erasure: the rows of
# the gateway tell which conversations are theirs, so they go last, and an erasure that was cut off finds them again.
PARTS = {
    "agent": "agent-fixed",
    "approvals": "approvals",
    "toolgateway": "toolgateway",
    "common": "gateway",
    "gateway": "gateway",
}
UNFINISHED = 3
# An answer under way ends within this; what waits for a person doesn't, and is told.
_WAIT_S = 30.0
Json = dict[str, Any]


@dataclass
class Case:
    """One customer, the running stack, and what is known of them so far."""

    stack: Stack
    customer: str
    known: str = ""
    reasons: list[str] = field(default_factory=list)

    def run(self, part: str, verb: str, *more: str) -> list[Json]:
        """Run one part's command; returns its lines. Raises CannotStartError when it failed."""
        known = ["--known"] if self.known else []
        command = [sys.executable, "-m", f"{part}.privacy", verb, self.customer, *known, *more]
        done = subprocess.run(  # noqa: S603 - our own modules
            command,
            input=self.known,
            capture_output=True,
            text=True,
            env=process_environment(self.stack, PARTS[part], os.environ),
            check=False,
            timeout=300,
        )
        if done.returncode not in (0, UNFINISHED):
            raise CannotStartError(f"{part} {verb} ended with {done.returncode}: {done.stderr.strip()[-2_000:]}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def find(self) -> None:
        """Learn every name the parts know the customer by."""
        for part in ("toolgateway", "agent", "approvals", "gateway"):
            [found] = self.run(part, "find")
            self.known = json.dumps(found)

    def unfinished(self) -> list[str]:
        """Return what has to end first."""
        return [f"{line['part']}: {line['unfinished']}" for part in PARTS for line in self.run(part, "check")]


def export_customer(run: Path, customer: str) -> None:
    """Writes all that is held about the customer to standard output, a JSON object a line; counts to standard error."""
    case = Case(_running(run), customer)
    case.find()
    for part in PARTS:
        lines = case.run(part, "export")
        sys.stdout.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        sys.stderr.write(f"· {part}: {len(lines)} records\n")


def erase_customer(run: Path, customer: str, wait_s: float = _WAIT_S) -> bool:
    """Erases the customer and prints one report; False, and nothing more is touched, while something is unfinished."""
    case = Case(_running(run), customer)
    pseudonym = f"erased-{secrets.token_hex(8)}"
    case.find()
    deadline = time.monotonic() + wait_s
    while (reasons := case.unfinished()) and time.monotonic() < deadline:
        time.sleep(1)
    sys.stdout.write(f"{pseudonym} at {datetime.now(UTC).isoformat(timespec='seconds')}\n")
    if reasons:
        _tell("not erased, nothing was touched", reasons)
        return False
    for part in PARTS:
        for line in case.run(part, "erase", "--as", pseudonym):
            if "unfinished" in line:
                _tell(f"{part} is not erased, run it again later", [line["unfinished"]])
                return False
            sys.stdout.write(f"  {part:<12} {_counted(line['erased'])}\n")
    return True


def _running(run: Path) -> Stack:
    if not (run / "stack.env").exists():
        raise CannotStartError("the stack is not up (make up)")
    names = read_stack_file(run)
    return Stack(
        run=run,
        addresses={"kafka": names["KAFKA_BOOTSTRAP"], "postgres": names["DATABASE_URL"], "redis": names["REDIS_URL"]},
        ports=json.loads((run / "service-ports.json").read_text()),
        secrets=keep_secrets(run / "secrets.json"),
        topic_prefix=names["TOPIC_PREFIX"],
    )


def _tell(what: str, reasons: list[str]) -> None:
    sys.stdout.write(f"  {what}:\n")
    sys.stdout.writelines(f"    {reason}\n" for reason in reasons)


def _counted(counts: Mapping[str, Any]) -> str:
    """One line: what went by table; for topics the letters that went, what is left there and until when."""
    if "complete_after" not in counts:
        return ", ".join(f"{table} {count}" for table, count in counts.items() if count) or "nothing held"
    letters = ", ".join(f"{name} {count}" for name, count in counts["letters"].items()) or "none"
    left = ", ".join(f"{name} {count}" for name, count in counts["left"].items()) or "nothing"
    topics = f"dead letters: {letters}; on topics until their retention ends: {left}"
    return f"{topics}\n  complete after {counts['complete_after']}"

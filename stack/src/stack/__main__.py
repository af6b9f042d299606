"""`python -m stack <command>`: what the Makefile calls."""

import argparse
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from stack import tokens
from stack.demo.run import demo
from stack.environment import MARK
from stack.keys import LOGINS, SERVICES, make_keys
from stack.lifecycle import clean, down, up
from stack.paths import RUN
from stack.privacy import UNFINISHED, erase_customer, export_customer
from stack.progress import CannotStartError
from stack.supervise import supervise


def main() -> None:
    """Runs one command; a thing that is missing ends in one clear line and exit status 1."""
    arguments = _parser().parse_args()
    try:
        arguments.run(arguments)
    except CannotStartError as error:
        sys.exit(f"stack: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stack", description=__doc__)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("up").set_defaults(run=lambda _: up(RUN))
    commands.add_parser("down").set_defaults(run=lambda _: down(RUN))
    commands.add_parser("clean").set_defaults(run=lambda _: clean(RUN))
    commands.add_parser("demo").set_defaults(run=lambda _: sys.exit(0 if demo(RUN / "demo") else 1))
    _privacy(commands, "export-customer", lambda customer: export_customer(RUN, customer))
    _privacy(commands, "erase-customer", lambda customer: sys.exit(0 if erase_customer(RUN, customer) else UNFINISHED))
    # Started by `up`, which leaves the folder in the environment, where a sweep finds it too.
    commands.add_parser("supervise").set_defaults(run=lambda _: supervise(Path(os.environ[MARK])))
    _ids(commands, "token", "customer", lambda a, keys, one: tokens.customer_token(keys, one, _now(), a.ttl_s))
    _ids(commands, "assertion", "customer", lambda a, keys, one: tokens.session_assertion(keys, one, _now(), a.ttl_s))
    _ids(commands, "service-token", "service", lambda a, keys, one: tokens.service_token(keys, one, _now(), a.ttl_s))
    staff = _ids(commands, "staff-token", "staff", _staff_token)
    staff.add_argument("--role", choices=("viewer", "approver", "lead"), required=True)
    staff.add_argument("--ceiling", default=None)
    return parser


_LIFE_S = {
    "token": tokens.CUSTOMER_TTL_S,
    "assertion": tokens.SESSION_TTL_S,
    "service-token": tokens.SERVICE_TTL_S,
    "staff-token": tokens.STAFF_TTL_S,
}


def _privacy(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, act: Callable[[str], None]
) -> None:
    parser = commands.add_parser(name)
    parser.add_argument("customer", metavar="CUSTOMER")

    def run(arguments: argparse.Namespace) -> None:
        if not arguments.customer:
            raise CannotStartError(f"name a customer: make {name} CUSTOMER=…")
        act(arguments.customer)

    parser.set_defaults(run=run)


def _ids(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    what: str,
    make: Callable[[argparse.Namespace, Path, str], str],
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name)
    parser.add_argument("ids", metavar=what.upper(), help="one or more, parted by spaces")
    parser.add_argument("--ttl-s", type=float, default=_LIFE_S[name], help="negative: an expired one")

    def run(arguments: argparse.Namespace) -> None:
        keys = make_keys(RUN / "keys")
        ids = arguments.ids.split()
        if not ids:
            raise CannotStartError(f"name a {what}: make {name} {what.upper()}=…")
        if what == "service" and not set(ids) <= set(SERVICES):
            raise CannotStartError(f"services are {', '.join(SERVICES)}; {', '.join(LOGINS)} are logins")
        sys.stdout.write(tokens.lines(make(arguments, keys, one) for one in ids))

    parser.set_defaults(run=run)
    return parser


def _staff_token(arguments: argparse.Namespace, keys: Path, one: str) -> str:
    return tokens.staff_token(keys, one, arguments.role, _now(), ttl_s=arguments.ttl_s, ceiling=arguments.ceiling)


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    main()

"""Fresh databases for tests: one migrated template a session, a quick copy of it for whoever asks."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from common.migrate import LOGIN_ROLES, Roles, migrate_all
from stack.readiness import run_async


def dsn_for(admin_dsn: str, *, database: str | None = None, user: str | None = None, password: str = "") -> str:
    """`admin_dsn` with another database, another login, or both."""
    parts = urlsplit(admin_dsn)
    address = parts.netloc.rpartition("@")[2]
    login = f"{user}:{password}@" if user else parts.netloc[: len(parts.netloc) - len(address)]
    path = f"/{database}" if database else parts.path
    return urlunsplit(parts._replace(netloc=f"{login}{address}", path=path))


@dataclass(frozen=True)
class TestDatabase:
    """One database; `dsn(role)` logs in as gateway, support, ledger, approvals or reconciler, or as admin."""

    __test__ = False  # for pytest, which collects what is called Test…

    name: str
    admin_dsn: str
    roles: Roles

    def dsn(self, role: str) -> str:
        if role == "admin":
            return dsn_for(self.admin_dsn, database=self.name)
        if role not in LOGIN_ROLES:
            raise ValueError(f"{role!r} is none of {LOGIN_ROLES}")
        return dsn_for(self.admin_dsn, database=self.name, user=self.roles.name(role), password=role)


@dataclass
class TestDatabases:
    """All databases and roles of one test session; their names start with `prefix`, and nothing else is touched."""

    __test__ = False

    admin_dsn: str
    prefix: str
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def roles(self) -> Roles:
        return Roles(f"{self.prefix}_", {role: role for role in LOGIN_ROLES})

    @property
    def template(self) -> str:
        return f"{self.prefix}_template"

    def prepare(self) -> None:
        """Creates the roles and the migrated template."""
        self._execute(f"create database {self.template}")
        try:
            run_async(lambda: migrate_all(dsn_for(self.admin_dsn, database=self.template), self.roles))
        except BaseException:
            self.remove()
            raise

    @contextmanager
    def fresh(self) -> Iterator[TestDatabase]:
        name = f"{self.prefix}_{next(self._numbers)}"
        self._execute(f"create database {name} template {self.template}")
        try:
            yield TestDatabase(name, self.admin_dsn, self.roles)
        finally:
            # Forced: a pool that a failed test left open must not fail the next one.
            self._execute(f"drop database {name} with (force)")

    def remove(self) -> None:
        """Drops the template and the roles."""
        self._execute(f"drop database if exists {self.template} with (force)")
        for role in LOGIN_ROLES:
            self._execute(f"drop role if exists {self.roles.name(role)}")

    def _execute(self, statement: str) -> None:
        async def run() -> None:
            connection = await asyncpg.connect(self.admin_dsn)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        run_async(run)

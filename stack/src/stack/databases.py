"""Fresh databases for tests: one migrated template a session, for whoever asks a copy of it or one emptied again."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from common.migrate import LOGIN_ROLES, Roles, migrate_all
from stack.readiness import run_async
from stack.wiping import Wiper


def dsn_for(admin_dsn: str, *, database: str | None = None, user: str | None = None, password: str = "") -> str:
    """`admin_dsn` with another database, another login, or both."""
    parts = urlsplit(admin_dsn)
    address = parts.netloc.rpartition("@")[2]
    login = f"{user}:{password}@" if user else parts.netloc[: len(parts.netloc) - len(address)]
    path = f"/{database}" if database else parts.path
    return urlunsplit(parts._replace(netloc=f"{login}{address}", path=path))


@dataclass(frozen=True)
class TestDatabase:
    """One database; `dsn(role)` logs in as one of LOGIN_ROLES, or as admin."""

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
    _wiper: Wiper | None = None
    # How often the template had to be copied.
    copies: int = 0
    # Names of databases that are as the template is, and that nobody is connected to.
    _ready: list[str] = field(default_factory=list)

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
            self._wiper = run_async(self._learn)
        except BaseException:
            self.remove()
            raise

    @contextmanager
    def fresh(self) -> Iterator[TestDatabase]:
        """Yields a database that holds what the template holds, under a name that nobody knew before."""
        if self._ready:
            name = self._ready.pop()
        else:
            name = self._new_name()
            self.copies += 1
            self._execute(f"create database {name} template {self.template}")
        try:
            yield TestDatabase(name, self.admin_dsn, self.roles)
        finally:
            run_async(lambda: self._take_back(name))

    async def _take_back(self, name: str) -> None:
        """Empties the database for the next one, or drops it."""
        admin = await asyncpg.connect(self.admin_dsn)
        try:
            if not await self._wiped(admin, name, renamed := self._new_name()):
                # Forced: a pool that a failed test left open must not fail the next one.
                await admin.execute(f"drop database if exists {name} with (force)")
                await admin.execute(f"drop database if exists {renamed} with (force)")
        finally:
            await admin.close()

    async def _wiped(self, admin: asyncpg.Connection, name: str, renamed: str) -> bool:
        """Whether the database stands ready under its new name, which a process left over from a test doesn't know."""
        await admin.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1", name, timeout=20
        )
        try:
            await admin.execute(f"alter database {name} rename to {renamed}")
        except asyncpg.ObjectInUseError:
            return False
        used = await asyncpg.connect(dsn_for(self.admin_dsn, database=renamed))
        try:
            ready = self._wiper is not None and await self._wiper.wipe(used)
        except asyncpg.PostgresError:
            return False
        finally:
            await used.close()
        if ready:
            self._ready.append(renamed)
        return ready

    def _new_name(self) -> str:
        return f"{self.prefix}_{next(self._numbers)}"

    def remove(self) -> None:
        """Drops the template, what stands ready, and the roles."""
        for name in self._ready:
            self._execute(f"drop database if exists {name} with (force)")
        self._execute(f"drop database if exists {self.template} with (force)")
        for role in LOGIN_ROLES:
            self._execute(f"drop role if exists {self.roles.name(role)}")

    async def _learn(self) -> Wiper:
        template = await asyncpg.connect(dsn_for(self.admin_dsn, database=self.template))
        try:
            return await Wiper.learn(template)
        finally:
            await template.close()

    def _execute(self, statement: str) -> None:
        async def run() -> None:
            connection = await asyncpg.connect(self.admin_dsn)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        run_async(run)

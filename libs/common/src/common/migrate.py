"""Applies a schema's numbered SQL files once each, as the migrator, before any service of that schema starts.

Login roles own nothing: they get what each file grants them, so that none can drop the guards that bind it. Files name
roles as ``${ledger}`` and include the shared tables with ``${outbox_tables}`` and ``${erasure_tables}``.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import asyncpg

from common import db
from common.outbox import INBOX_SQL, OUTBOX_SQL
from common.privacy.erasing import ERASURE_SQL
from common.telemetry import get_logger

# Schema → the package that owns it.
OWNERS = {"gateway": "gateway", "support": "agent", "ledger": "toolgateway", "approvals": "approvals"}
# ``operator`` is a person's: it throws the kill switch and closes tasks. No service logs in as it.
LOGIN_ROLES = ("gateway", "support", "ledger", "approvals", "reconciler", "operator")
_PASSWORDS = {role: f"{role.upper()}_PASSWORD" for role in LOGIN_ROLES}
_SEEN_TABLE = "create table if not exists schema_migrations (name text primary key, at timestamptz default now())"
_SAFE_NAME = re.compile(r"[a-z][a-z0-9_]{0,50}")
_log = get_logger()


@dataclass(frozen=True)
class Roles:
    """Names and passwords of the login roles; a prefix keeps tests on a given server apart."""

    prefix: str = ""
    passwords: Mapping[str, str] = field(default_factory=dict)

    def name(self, role: str) -> str:
        """Return the role's name on this server."""
        return f"{self.prefix}{role}"


async def provision(admin_dsn: str, roles: Roles) -> None:
    """Create the schemas and login roles that don't exist yet, with nothing granted but the way in."""
    conn = await asyncpg.connect(admin_dsn)
    try:
        async with conn.transaction():
            await conn.execute("select pg_advisory_xact_lock(hashtext('provision'))")
            for role in LOGIN_ROLES:
                await _ensure_role(conn, roles, role)
            for schema in OWNERS:
                await conn.execute(f"create schema if not exists {schema}")
                await conn.execute(
                    f"grant usage on schema {schema} to {roles.name(schema)}, {roles.name('reconciler')}"
                )
            await conn.execute("revoke create on schema public from public")
    finally:
        await conn.close()


async def _ensure_role(conn: "asyncpg.Connection[asyncpg.Record]", roles: Roles, role: str) -> None:
    name = roles.name(role)
    if not _SAFE_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no role name")
    # A password can't be a statement parameter; quote_literal is the server's own quoting.
    password = await conn.fetchval("select quote_literal($1::text)", roles.passwords.get(role, role))
    exists = await conn.fetchval("select true from pg_roles where rolname = $1", name)
    verb = "alter" if exists else "create"
    await conn.execute(f"{verb} role {name} login password {password}")


async def migrate(admin_dsn: str, schema: str, directory: Path, roles: Roles) -> list[str]:
    """Apply the files of ``directory`` that ``schema`` hasn't seen, in order; returns their names.

    Several runners at once are safe: they take turns, and the later ones find nothing to do.
    """
    conn = await asyncpg.connect(admin_dsn, server_settings={"search_path": f"{schema},public"})
    applied = []
    try:
        async with conn.transaction():
            await conn.execute("select pg_advisory_xact_lock(hashtext($1))", f"migrate:{schema}")
            # A migration that waits for a lock makes every query behind it wait too (SRE: expand and contract).
            await conn.execute("set local lock_timeout = '5s'")
            await conn.execute(_SEEN_TABLE)
            seen = {r["name"] for r in await conn.fetch("select name from schema_migrations")}
            for path in sorted(directory.glob("*.sql")):  # noqa: ASYNC240 - a job of its own, nothing else waits
                if path.name not in seen:
                    await conn.execute(_filled(path.read_text(), roles))
                    await conn.execute("insert into schema_migrations (name) values ($1)", path.name)
                    applied.append(path.name)
            # The owner may see how far its schema is, to refuse to start on an older one, and may say nothing of it: a
            # file that grants "all tables" grants this one, too.
            await conn.execute(f"revoke all on schema_migrations from {roles.name(schema)}")
            await conn.execute(f"grant select on schema_migrations to {roles.name(schema)}")
    finally:
        await conn.close()
    return applied


class NotMigratedError(Exception):
    """The database is older than the code: its message names the files that are missing, and what to do."""


async def require_migrated(pool: db.Database, schema: str) -> None:
    """Raise NotMigratedError unless every migration this code brings has been applied to ``schema``.

    More than that is fine: migrations only add, and a newer release's run before its code does.
    """
    package = OWNERS[schema]
    wanted = {file.name for file in files(package).joinpath("migrations").iterdir() if file.name.endswith(".sql")}
    try:
        seen = {row["name"] for row in await pool.fetch(f"select name from {schema}.schema_migrations")}  # noqa: S608 - a key of OWNERS
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError, asyncpg.InsufficientPrivilegeError):
        seen = set()
    if missing := sorted(wanted - seen):
        raise NotMigratedError(
            f"schema {schema} lacks {', '.join(missing)}: run the migrations first (python -m common.migrate)"
        )


def _filled(sql: str, roles: Roles) -> str:
    tables = {"outbox_tables": OUTBOX_SQL + INBOX_SQL, "erasure_tables": ERASURE_SQL}
    values = {role: roles.name(role) for role in LOGIN_ROLES} | tables
    return re.sub(r"\$\{(\w+)\}", lambda m: values[m.group(1)], sql)


async def migrate_all(admin_dsn: str, roles: Roles) -> None:
    """Provision, then migrate every schema whose owner is installed here."""
    await provision(admin_dsn, roles)
    for schema, package in OWNERS.items():
        try:
            directory = Path(str(files(package) / "migrations"))
        except ModuleNotFoundError:
            continue
        if directory.is_dir():  # noqa: ASYNC240 - as above
            names = await migrate(admin_dsn, schema, directory, roles)
            _log.info("migrated", schema=schema, applied=names)


def main() -> None:
    """Migrate the database of ``MIGRATE_DATABASE_URL``; ``<ROLE>_PASSWORD`` gives each login role its password."""
    missing = [name for name in _PASSWORDS.values() if not os.environ.get(name)]
    if missing:
        raise SystemExit(f"no password for a login role: set {', '.join(missing)}")
    passwords = {role: os.environ[name] for role, name in _PASSWORDS.items()}
    prefix = os.environ.get("MIGRATE_ROLE_PREFIX", "")
    asyncio.run(migrate_all(os.environ["MIGRATE_DATABASE_URL"], Roles(prefix, passwords)))


if __name__ == "__main__":
    main()

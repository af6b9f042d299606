"""Makes a used test database what its template is, by emptying it: a tenth of the cost of copying the template anew.

What is compared, put back or left is listed here; a database whose shape changed can't be put back and is dropped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg

# Everything a migration or a careless test could have changed, one line each: tables, columns, keys, triggers,
# functions, grants, settings.
_SHAPE = """
with ours as (select oid, nspname, nspowner, nspacl from pg_namespace
               where nspname !~ '^pg_' and nspname <> 'information_schema'),
     relations as (select c.* from pg_class c join ours on ours.oid = c.relnamespace)
select md5(string_agg(line, E'\\n' order by line)) from (
    select format('schema %s %s %s', nspname, nspowner, nspacl) as line from ours
    union all
    select format('relation %s %s %s %s %s %s %s', oid::regclass, relkind, relowner, relacl, reloptions,
                  relrowsecurity, pg_get_expr(relpartbound, oid)) from relations
    union all
    select format('column %s %s %s %s %s %s %s %s', a.attrelid::regclass, attname, format_type(atttypid, atttypmod),
                  attnotnull, attacl, attidentity, attgenerated, pg_get_expr(d.adbin, d.adrelid))
      from pg_attribute a join relations r on r.oid = a.attrelid
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum where attnum > 0 and not attisdropped
    union all
    select format('index %s', pg_get_indexdef(indexrelid)) from pg_index join relations r on r.oid = indexrelid
    union all
    select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(k.oid))
      from pg_constraint k join ours on ours.oid = k.connamespace
    union all
    select format('trigger %s %s', tgenabled, pg_get_triggerdef(t.oid))
      from pg_trigger t join relations r on r.oid = tgrelid
    union all
    select format('view %s %s', oid::regclass, pg_get_viewdef(oid)) from relations where relkind in ('v', 'm')
    union all
    select format('policy %s %s', polrelid::regclass, polname) from pg_policy
    union all
    select format('function %s %s %s %s %s', p.oid::regprocedure, proowner, proacl, proconfig, prosrc)
      from pg_proc p join ours on ours.oid = p.pronamespace
    union all
    select format('type %s %s', t.oid::regtype, typtype) from pg_type t join ours on ours.oid = t.typnamespace
    union all
    select format('extension %s', extname) from pg_extension
    union all
    select format('setting %s %s', s.setrole, setconfig) from pg_db_role_setting s
      join pg_database b on b.oid = s.setdatabase where datname = current_database()
) as shape
"""
_TABLES = """
select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where relkind = 'r' and nspname !~ '^pg_' and nspname <> 'information_schema' order by 1
"""
_SEQUENCES = """
select format('%I.%I', schemaname, sequencename) as name, start_value, last_value
  from pg_sequences where schemaname in
       (select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema')
"""


@dataclass(frozen=True)
class Wiper:
    """What the template holds: its shape's digest, its tables, the rows of those that have any, its sequences."""

    shape: str
    empty: tuple[str, ...]
    seeded: Mapping[str, tuple[str, str]]
    sequences: tuple[asyncpg.Record, ...]

    @classmethod
    async def learn(cls, template: asyncpg.Connection) -> "Wiper":
        """Reads the template; each seeded table is kept as (digest, rows as a JSON array)."""
        await template.execute("set search_path to pg_catalog")
        tables = [row[0] for row in await template.fetch(_TABLES)]
        seeded = {}
        for table in tables:
            rows = await template.fetchval(f"select jsonb_agg(to_jsonb(t))::text from {table} t")  # noqa: S608
            if rows is not None:
                seeded[table] = (await template.fetchval(_digest(table)), rows)
        empty = tuple(table for table in tables if table not in seeded)
        sequences = tuple(await template.fetch(_SEQUENCES))
        return cls(await template.fetchval(_SHAPE), empty, seeded, sequences)

    async def wipe(self, used: asyncpg.Connection) -> bool:
        """Puts the database back; False when its shape is no longer the template's. Nobody else may be connected."""
        await used.execute("set search_path to pg_catalog")
        if await used.fetchval(_SHAPE) != self.shape:
            return False
        # The ledger's history refuses changes by triggers: they are off for this session alone.
        await used.execute("set session_replication_role = replica")
        written = " union all ".join(f"select '{t}' where exists (select from {t})" for t in self.empty)  # noqa: S608
        dirty = [row[0] for row in await used.fetch(written)]
        if dirty:
            await used.execute(f"truncate {', '.join(dirty)} cascade")
        for table, (digest, rows) in self.seeded.items():
            if await used.fetchval(_digest(table)) != digest:
                await _refill(used, table, rows)
        await used.execute(_reset(self.sequences))
        return True


def _digest(table: str) -> str:
    return f"select md5(coalesce(string_agg(t::text, E'\\n' order by t::text), '')) from {table} t"  # noqa: S608


async def _refill(used: asyncpg.Connection, table: str, rows: str) -> None:
    await used.execute(f"delete from {table}")  # noqa: S608 - a name read from the catalogue, quoted by it
    await used.execute(
        f"insert into {table} overriding system value "  # noqa: S608
        f"select * from jsonb_populate_recordset(null::{table}, $1::text::jsonb)",
        rows,
    )


def _reset(sequences: tuple[Any, ...]) -> str:
    calls = (
        f"setval('{s['name']}', {s['start_value'] if s['last_value'] is None else s['last_value']},"
        f" {'false' if s['last_value'] is None else 'true'})"
        for s in sequences
    )
    return f"select {', '.join(calls) or '1'}"

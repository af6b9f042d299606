"""What a `core/` may contain: decisions on values, and nothing that waits, looks at the clock or rolls dice."""

import ast
import sys
from pathlib import Path

from stack.house.source import Source, dotted, imports, sources

# Standard modules that reach outside the function's arguments.
_IMPURE_MODULES = frozenset(
    "asyncio concurrent ftplib http logging multiprocessing os random secrets select shutil signal smtplib socket "
    "sqlite3 ssl subprocess sys tempfile threading time urllib.request".split()
)
_VALUE_MODULES = (
    "common.errors",
    "common.events",
    "common.guard.sensitive",
    "common.ids",
    "common.links",
    "common.models.turns",
    "common.money",
    "common.statements",
    "common.topics",
)
# Third-party code a core may use: data models, and arithmetic on arrays.
_LIBRARIES = ("pydantic", "numpy", "typing_extensions")
_IMPURE_CALLS = frozenset(("open", "print", "input", "exec", "eval", "__import__"))
# Wall clocks and dice that hide in otherwise pure modules.
_IMPURE_ATTRIBUTES = frozenset(("now", "utcnow", "today", "uuid1", "uuid4", "uuid7"))
_CLOCKS = ("datetime", "date", "uuid")
_MINTS = ("common.ids.new_id",)  # an id is a roll of dice: it comes in as an argument


def cores_are_pure(root: Path) -> list[str]:
    """`core/` awaits nothing, reads no clock, rolls no dice, does no I/O, logs nothing, and imports only values."""
    findings = []
    for source in sources(root):
        if source.is_core and source.home != "stack":
            findings += _imports(source) + _nodes(source)
    return findings


def _imports(source: Source) -> list[str]:
    own = ".".join(source.parts[: source.parts.index("core") + 1])
    return [f"{source.at(node)}: a core imports {name}" for node, name in imports(source) if not _is_value(name, own)]


def _is_value(name: str, own: str) -> bool:
    if name in _MINTS:
        return False
    if _under(name, (own, *_LIBRARIES, *_VALUE_MODULES)):
        return True
    top = name.split(".", maxsplit=1)[0]
    return top in sys.stdlib_module_names and not _under(name, tuple(_IMPURE_MODULES))


def _under(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def _nodes(source: Source) -> list[str]:
    findings = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            findings.append(f"{source.at(node)}: a core awaits")
        elif isinstance(node, ast.Call) and _is_impure(dotted(node.func)):
            findings.append(f"{source.at(node)}: a core calls {dotted(node.func)}")
    return findings


def _is_impure(called: str) -> bool:
    *owner, name = called.split(".")
    if called == "io.open":  # the rest of io is text in memory
        return True
    if not owner:
        return name in _IMPURE_CALLS
    return name in _IMPURE_ATTRIBUTES and owner[-1] in _CLOCKS

"""The Python sources a rule looks at, each parsed once."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_HOMES = ("libs/*/src", "services/*/src", "sandbox/src", "stack/src")


@dataclass(frozen=True)
class Source:
    """One module; `parts` is its dotted name split: ("gateway", "core", "codes")."""

    path: Path
    home: str
    parts: tuple[str, ...]
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        return self.parts[0]

    @property
    def is_core(self) -> bool:
        return "core" in self.parts[1:]

    def at(self, node: ast.AST) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


def sources(root: Path) -> Iterator[Source]:
    for pattern in _HOMES:
        for home in sorted(root.glob(pattern)):
            for file in sorted(home.rglob("*.py")):
                inside = file.relative_to(home)
                parts = tuple(part for part in inside.with_suffix("").parts if part != "__init__")
                if parts:
                    text = file.read_text()
                    yield Source(file.relative_to(root), pattern.split("/")[0], parts, text, _parsed(text))


@lru_cache(maxsize=2048)
def _parsed(text: str) -> ast.Module:
    """Ten rules read the same files; parsing is most of the work."""
    return ast.parse(text)


def imports(source: Source) -> Iterator[tuple[ast.stmt, str]]:
    """Every imported module by its full dotted name; `from a import b` gives `a.b`, since b may be a module."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            depth = len(source.parts) - node.level + (source.path.name == "__init__.py")
            base = ".".join((*source.parts[:depth], *([node.module] if node.module else [])))
            yield from ((node, f"{base}.{alias.name}") for alias in node.names)


def dotted(node: ast.expr) -> str:
    """`os.environ.get` for the expression of that name, "" for anything that isn't a plain chain of names."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""

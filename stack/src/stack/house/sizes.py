"""How long a file or a function may grow, and names that say nothing."""

import ast
from pathlib import Path

from stack.house.source import sources

FILE_LINES, FUNCTION_LINES = 400, 70
_EMPTY_NAMES = ("utils", "util", "helpers", "helper", "base", "manager", "managers", "misc", "common_utils")


def nothing_grows_too_long(root: Path) -> list[str]:
    findings = []
    for source in sources(root):
        lines = source.text.count("\n")
        if lines > FILE_LINES:
            findings.append(f"{source.path}: {lines} lines, at most {FILE_LINES}")
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_LINES:
                    findings.append(f"{source.at(node)}: {node.name} has {length} lines, at most {FUNCTION_LINES}")
    return findings


def names_say_something(root: Path) -> list[str]:
    """A file called utils or helpers has no subject, so everything ends up in it."""
    return [
        f"{source.path}: name it after its subject"
        for source in sources(root)
        if source.parts[-1] in _EMPTY_NAMES or source.parts[-1].endswith(("_manager", "_utils", "_helpers"))
    ]


def modules_say_what_they_are(root: Path) -> list[str]:
    """Every module that holds code opens with a docstring."""
    return [
        f"{source.path}: no module docstring"
        for source in sources(root)
        if source.tree.body and ast.get_docstring(source.tree) is None
    ]

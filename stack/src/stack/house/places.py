"""What must not be named in what we ship: development powers in production, one company's registry in a lock."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_DEVELOPMENT = re.compile(r"(?i)\bsandbox\b|CRASH_POINT|PROFILE['\"]?\s*[:=]\s*['\"]?dev\b|\.run/")
_PIN = re.compile(r"^([a-z0-9._-]+)==([^ \\;]+)", re.MULTILINE)
_PLACE = re.compile(r"https?://|^\s*--?(?:index|extra-index|find-links|i)\b|^-e ", re.MULTILINE)


def production_names_no_development_power(root: Path) -> list[str]:
    """No manifest under deploy/ names the sandbox, a crash point, the dev profile or the dev keys (SPEC §15)."""
    findings = []
    for file in sorted((root / "deploy").rglob("*")):
        if file.suffix in (".yaml", ".yml", ".json", ".env", ".properties") and file.is_file():
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if _DEVELOPMENT.search(line.split("#", 1)[0]):
                    findings.append(f"{file.relative_to(root)}:{number}: {line.strip()}")
    return findings


def locks_name_no_place(root: Path) -> list[str]:
    """requirements.lock names versions and hashes; where packages come from is for whoever installs to say."""
    lock = root / "requirements.lock"
    if not lock.exists():
        return ["requirements.lock is missing (make lock)"]
    return [f"requirements.lock: {found.group().strip()}" for found in _PLACE.finditer(lock.read_text())]


def locks_hold_every_dependency(root: Path) -> list[str]:
    """Whatever a pyproject asks for is in requirements.lock, in a version it accepts."""
    lock = root / "requirements.lock"
    pins = dict(_PIN.findall(lock.read_text())) if lock.exists() else {}
    findings = []
    for file in [
        root / "pyproject.toml",
        *sorted(root.glob("*/pyproject.toml")),
        *sorted(root.glob("*/*/pyproject.toml")),
    ]:
        for wanted in _wanted(file):
            pin = pins.get(canonicalize_name(wanted.name))
            if pin is None or not wanted.specifier.contains(pin, prereleases=True):
                findings.append(
                    f"requirements.lock: {file.relative_to(root)} asks for {wanted}, found {pin} (make lock)"
                )
    return findings


def _wanted(file: Path) -> Iterator[Requirement]:
    if not file.exists():
        return
    project = tomllib.loads(file.read_text())
    listed = list(project.get("project", {}).get("dependencies", []))
    for group in project.get("dependency-groups", {}).values():
        listed += [entry for entry in group if isinstance(entry, str)]
    for entry in listed:
        wanted = Requirement(entry)
        # Our own packages are installed from the checkout.
        if not wanted.name.startswith("till-") and (wanted.marker is None or wanted.marker.evaluate()):
            yield wanted

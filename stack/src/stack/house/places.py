"""What must not be named in what we ship: development powers in production, one company's registry in a lock."""

import re
from pathlib import Path

_DEVELOPMENT = re.compile(r"(?i)\bsandbox\b|CRASH_POINT|PROFILE['\"]?\s*[:=]\s*['\"]?dev\b|\.run/")
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

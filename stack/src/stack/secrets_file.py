"""What a development stack makes up once and keeps: id, passwords, hook secrets; readable by its owner only."""

import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from common.migrate import LOGIN_ROLES


@dataclass(frozen=True)
class StackSecrets:
    """`instance` names databases on a server that others use too; `passwords` maps login role → password."""

    instance: str
    passwords: dict[str, str]
    hook_secret: str
    webhook_secret: str


def keep_secrets(file: Path) -> StackSecrets:
    """Reads the file, or makes it on the first start of this checkout; a role that is new gets its password then."""
    if file.exists():
        kept = StackSecrets(**json.loads(file.read_text()))
        new = {role: secrets.token_urlsafe(18) for role in LOGIN_ROLES if role not in kept.passwords}
        if new:
            kept = replace(kept, passwords=kept.passwords | new)
            beside = file.with_suffix(".new")
            beside.unlink(missing_ok=True)
            _write(beside, kept)
            beside.replace(file)
        return kept
    made = StackSecrets(
        instance=secrets.token_hex(4),
        passwords={role: secrets.token_urlsafe(18) for role in LOGIN_ROLES},
        hook_secret=secrets.token_urlsafe(32),
        webhook_secret=secrets.token_urlsafe(32),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    _write(file, made)
    return made


def _write(file: Path, kept: StackSecrets) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(asdict(kept), out, indent=1)

"""What a development stack makes up once and keeps: id, passwords, hook secrets; readable by its owner only."""

import json
import os
import secrets
from dataclasses import asdict, dataclass
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
    """Reads the file, or makes it on the first start of this checkout."""
    if file.exists():
        return StackSecrets(**json.loads(file.read_text()))
    made = StackSecrets(
        instance=secrets.token_hex(4),
        passwords={role: secrets.token_urlsafe(18) for role in LOGIN_ROLES},
        hook_secret=secrets.token_urlsafe(32),
        webhook_secret=secrets.token_urlsafe(32),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(asdict(made), out, indent=1)
    return made

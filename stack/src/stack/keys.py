"""Makes the development keys: one Ed25519 pair a signer, private halves readable by the owner only."""

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from jwt.algorithms import OKPAlgorithm

SERVICES = ("gateway", "approvals", "reconciler", "agent", "toolgateway")
# The store's own logins: their public halves are served by the sandbox, as a store's identity provider would.
LOGINS = ("login", "stafflogin")
TRUSTED = "trusted.jwks.json"


def make_keys(folder: Path) -> Path:
    """Writes `<name>.pem` for every signer, and `trusted.jwks.json` for the services; keeps keys that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name in (*SERVICES, *LOGINS):
        file = folder / f"{name}.pem"
        if not file.exists():
            _write(file, Ed25519PrivateKey.generate())
    jwks = {"keys": [public_jwk(folder, name) for name in SERVICES]}
    text = json.dumps(jwks, indent=1)
    trusted = folder / TRUSTED
    if not trusted.exists() or trusted.read_text() != text:
        part = folder / f".{TRUSTED}.{os.getpid()}"
        part.write_text(text)
        part.rename(trusted)
    return folder


def _write(file: Path, key: Ed25519PrivateKey) -> None:
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    # mkstemp gives mode 0600 from the start; linked, not renamed, so that of two makers at once the first one's stands.
    handle, part = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(handle, "wb") as out:
        out.write(pem)
    with contextlib.suppress(FileExistsError):
        os.link(part, file)
    Path(part).unlink()


def public_jwk(folder: Path, name: str) -> dict[str, Any]:
    """The public half of a signer's key, as a JWKS lists it; `iss` names whom it speaks for."""
    private = load_pem_private_key((folder / f"{name}.pem").read_bytes(), password=None)
    assert isinstance(private, Ed25519PrivateKey)
    jwk = json.loads(OKPAlgorithm.to_jwk(private.public_key()))
    return {**jwk, "kid": f"{name}-1", "iss": name, "use": "sig", "alg": "EdDSA"}

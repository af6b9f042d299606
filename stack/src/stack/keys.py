"""Makes the development keys: one Ed25519 pair a signer, private halves readable by the owner only."""

import json
import os
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
    jwks = {"keys": [_public(folder, name) for name in SERVICES]}
    (folder / TRUSTED).write_text(json.dumps(jwks, indent=1))
    return folder


def _write(file: Path, key: Ed25519PrivateKey) -> None:
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    # Created with its final mode: a chmod afterwards would leave the key readable for a moment.
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(pem)


def _public(folder: Path, name: str) -> dict[str, Any]:
    private = load_pem_private_key((folder / f"{name}.pem").read_bytes(), password=None)
    assert isinstance(private, Ed25519PrivateKey)
    jwk = json.loads(OKPAlgorithm.to_jwk(private.public_key()))
    return {**jwk, "kid": f"{name}-1", "iss": name, "use": "sig", "alg": "EdDSA"}

"""The client certificate by which a broker knows who asks; without one the connection is plain (development)."""

import ssl
from pathlib import Path


def tls_context(directory: Path | None) -> ssl.SSLContext | None:
    """Read ``ca.crt``, ``user.crt`` and ``user.key`` (PEM) of ``directory``; None gives None.

    Raises OSError when a file is missing or is no certificate: a service that was told to use TLS never goes without.
    """
    if directory is None:
        return None
    context = ssl.create_default_context(cafile=str(directory / "ca.crt"))
    context.load_cert_chain(directory / "user.crt", directory / "user.key")
    return context


def security_protocol(context: ssl.SSLContext | None) -> str:
    """Return Kafka's word for the connection that ``context`` makes."""
    return "SSL" if context else "PLAINTEXT"

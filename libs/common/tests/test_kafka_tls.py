"""Where a broker asks who is there, producer and consumer both show the certificate they were given, or don't start."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from common.consumer import Consumer, Subscription
from common.events import ReplyEvent
from common.kafka_tls import tls_context
from common.producer import Producer
from common.settings import BusSettings
from common.topics import REPLIES


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _write(directory: Path, stem: str, owner: str, issuer: tuple[ec.EllipticCurvePrivateKey, str] | None) -> Any:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    signer, issuer_name = issuer or (key, owner)
    certificate = (
        x509.CertificateBuilder(_name(issuer_name), _name(owner), key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    directory.joinpath(f"{stem}.crt").write_bytes(certificate.public_bytes(pem))
    plain = serialization.NoEncryption()
    directory.joinpath(f"{stem}.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return key


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    authority = _write(tmp_path, "ca", "authority", None)
    _write(tmp_path, "server", "localhost", (authority, "authority"))
    _write(tmp_path, "user", "router", (authority, "authority"))
    return tmp_path


@pytest.fixture
async def callers(certificates: Path) -> AsyncIterator[tuple[str, "asyncio.Queue[Any]"]]:
    """A door that asks for a certificate like a broker's and writes down who came."""
    seen: asyncio.Queue[Any] = asyncio.Queue()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates / "ca.crt"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificates / "server.crt", certificates / "server.key")

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subject = writer.get_extra_info("peercert")["subject"]
        seen.put_nowait(subject[0][0][1])
        writer.close()

    server = await asyncio.start_server(greet, "localhost", 0, ssl=context)
    async with server:
        yield f"localhost:{server.sockets[0].getsockname()[1]}", seen


async def _who_came(starting: Any, seen: "asyncio.Queue[Any]") -> str:
    task = asyncio.ensure_future(starting)
    try:
        return str(await asyncio.wait_for(seen.get(), 10))
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task


async def test_a_producer_shows_its_certificate(callers: Any, certificates: Path) -> None:
    address, seen = callers
    producer = Producer(address, "", certificates)
    assert await _who_came(producer.start(), seen) == "router"
    await producer.stop()


async def test_a_consumer_shows_its_certificate(callers: Any, certificates: Path) -> None:
    address, seen = callers
    settings = BusSettings(kafka_bootstrap=address, kafka_tls_dir=certificates)

    async def ignore(_: Any) -> None: ...

    consumer = Consumer(settings, Producer(address), [Subscription(REPLIES, "test", ReplyEvent, ignore)])
    assert await _who_came(consumer.start(), seen) == "router"
    await consumer.stop()


def test_a_missing_certificate_is_an_error_and_not_a_plain_connection(certificates: Path) -> None:
    (certificates / "user.key").unlink()
    with pytest.raises(OSError, match="No such file"):
        Producer("localhost:1", "", certificates)


def test_development_needs_no_certificate() -> None:
    assert tls_context(None) is None

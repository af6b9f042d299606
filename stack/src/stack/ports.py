"""Free TCP ports, chosen once and kept in a file so that a restarted process answers where it did before."""

import json
import random
import socket
from pathlib import Path

# Below the range the kernel hands to outgoing connections (32768 and up): a port from that range
# could be somebody's client socket at the moment a killed server wants it back.
LOWEST, HIGHEST = 15_000, 32_000


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(taken: frozenset[int] = frozenset()) -> int:
    """A port nobody listens on and which is not among those `taken`."""
    chooser = random.SystemRandom()
    while True:
        port = chooser.randrange(LOWEST, HIGHEST)
        if port not in taken and is_free(port):
            return port


def keep_ports(file: Path, names: tuple[str, ...]) -> dict[str, int]:
    """One port a name; those already in `file` are kept unless somebody else has taken them since."""
    known: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
    ports = {name: known[name] for name in names if name in known and is_free(known[name])}
    for name in names:
        if name not in ports:
            ports[name] = free_port(frozenset(ports.values()))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(ports, indent=1))
    return ports

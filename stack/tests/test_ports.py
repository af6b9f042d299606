"""Ports are free, kept across restarts, and given up when somebody else has them."""

import socket
from pathlib import Path

from stack.ports import free_port, is_free, keep_ports


def test_kept_ports_stay_the_same(tmp_path: Path) -> None:
    first = keep_ports(tmp_path / "ports.json", ("a", "b"))
    assert keep_ports(tmp_path / "ports.json", ("a", "b")) == first
    assert len(set(first.values())) == 2


def test_a_port_somebody_listens_on_is_replaced(tmp_path: Path) -> None:
    first = keep_ports(tmp_path / "ports.json", ("a", "b"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", first["a"]))
        other.listen()
        assert not is_free(first["a"])
        second = keep_ports(tmp_path / "ports.json", ("a", "b"))
    assert second["a"] != first["a"]
    assert second["b"] == first["b"]


def test_a_free_port_is_below_those_the_kernel_hands_out() -> None:
    assert free_port() < 32_768

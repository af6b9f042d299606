"""Where the servers come from: given, else containers, else local processes, and never a silent surprise."""

from collections.abc import Callable
from pathlib import Path

import pytest
from docker.errors import DockerException, NotFound  # type: ignore[import-untyped]

from stack import containers, kafka, postgres, valkey
from stack import servers as module
from stack.containers import Container
from stack.kafka import KafkaFiles
from stack.postgres import PostgresFiles
from stack.process import Program
from stack.progress import CannotStartError
from stack.servers import plan_servers

GIVEN = {"STACK_KAFKA": "k:9092", "STACK_DATABASE": "postgresql://u@d/x", "STACK_REDIS": "redis://r"}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A Docker engine that answers and has every image; returns the names of containers that were started."""
    started: list[str] = []

    def starter(name: str) -> Callable[[int], Container]:
        def start(port: int) -> Container:
            started.append(name)
            return Container(f"{name}:{port}", lambda: started.remove(name))

        return start

    monkeypatch.setattr(containers, "engine_answers", lambda: True)
    monkeypatch.setattr(containers, "images_present", lambda: True)
    for name in ("kafka", "postgres", "valkey"):
        monkeypatch.setattr(containers, f"start_{name}", starter(name))
    return started


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Local binaries that only exist by name."""
    program = Program("p", ("true",), tmp_path / "p.log")
    monkeypatch.setattr(kafka, "kafka_files", lambda: KafkaFiles(Path("java"), "jars", Path("jsa")))
    monkeypatch.setattr(postgres, "postgres_files", lambda: PostgresFiles(Path("bin"), None))
    monkeypatch.setattr(valkey, "valkey_binary", lambda: Path("valkey-server"))
    for server in (kafka, postgres, valkey):
        monkeypatch.setattr(server, "prepare", lambda *_: program)


def test_given_servers_are_taken_and_nothing_is_started(tmp_path: Path, engine: list[str]) -> None:
    servers = plan_servers(tmp_path, GIVEN)
    assert servers.addresses == {"kafka": "k:9092", "postgres": "postgresql://u@d/x", "redis": "redis://r"}
    assert servers.programs == {}
    assert engine == []


def test_only_what_is_not_given_is_started(tmp_path: Path, engine: list[str]) -> None:
    servers = plan_servers(tmp_path, {"STACK_KAFKA": "k:9092"})
    assert engine == ["postgres", "valkey"]
    assert servers.addresses["kafka"] == "k:9092"


def test_an_engine_that_can_pull_is_used(tmp_path: Path, engine: list[str]) -> None:
    servers = plan_servers(tmp_path, {})
    assert servers.programs == {}
    for stopper in list(servers.stoppers):
        stopper()
    assert engine == []


@pytest.mark.usefixtures("local")
def test_an_engine_that_cannot_pull_gives_way_to_local_processes(
    tmp_path: Path, engine: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "images_present", lambda: False)
    servers = plan_servers(tmp_path, {})
    assert set(servers.programs) == {"kafka", "postgres", "redis"}
    assert engine == []


@pytest.mark.usefixtures("local")
def test_a_container_that_fails_takes_its_siblings_down_before_local_processes_start(
    tmp_path: Path, engine: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_port: int) -> Container:
        raise NotFound("no such image")

    monkeypatch.setattr(containers, "start_valkey", fail)
    servers = plan_servers(tmp_path, {})
    assert engine == []
    assert set(servers.programs) == {"kafka", "postgres", "redis"}
    assert "no such image" in capsys.readouterr().err


def test_who_asks_for_containers_by_name_is_told_that_they_fail(
    tmp_path: Path, engine: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_port: int) -> Container:
        raise DockerException("no room")

    monkeypatch.setattr(containers, "start_kafka", fail)
    with pytest.raises(DockerException, match="no room"):
        plan_servers(tmp_path, {"STACK": "docker"})


@pytest.mark.usefixtures("local")
def test_who_asks_for_local_processes_gets_them_beside_an_engine(tmp_path: Path, engine: list[str]) -> None:
    assert set(plan_servers(tmp_path, {"STACK": "local"}).programs) == {"kafka", "postgres", "redis"}
    assert engine == []


def test_without_maven_and_jars_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(CannotStartError, match=r"apt install maven.*STACK_KAFKA"):
        kafka.kafka_files()


def test_a_server_that_never_answers_ends_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "redis.log"
    log.write_text("cannot bind\n")
    monkeypatch.setattr(module, "READY_WITHIN_S", 0.2)
    servers = module.Servers({"redis": "redis://127.0.0.1:1/0"}, {"redis": Program("redis", ("true",), log)})
    with pytest.raises(CannotStartError, match="cannot bind"):
        servers.wait("redis")

"""Runs the servers in containers, where an engine answers and can pull the images."""

import gc
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import docker  # type: ignore[import-untyped]
from docker.errors import DockerException  # type: ignore[import-untyped]
from testcontainers.core.container import DockerContainer

from stack.kafka import MAX_MESSAGE_BYTES
from stack.postgres import MAX_CONNECTIONS
from stack.progress import say, slow_step

KAFKA_IMAGE = "apache/kafka:4.3.1"
POSTGRES_IMAGE = "postgres:18"
VALKEY_IMAGE = "valkey/valkey:9"
# An engine without a route to its registry can hang in a pull; after this long we take local processes instead.
PULL_WITHIN_S = 240.0


@dataclass(frozen=True)
class Container:
    """A running container and the address its server answers at."""

    address: str
    stop: Callable[[], None]


def engine_answers() -> bool:
    """True when a Docker engine answers a ping."""
    with warnings.catch_warnings():
        # A client that reaches nobody leaves its socket to the collector, which would warn in some later test.
        warnings.simplefilter("ignore", ResourceWarning)
        answers = _ping()
        gc.collect()
    return answers


def _ping() -> bool:
    try:
        client = docker.from_env(timeout=5)
        client.ping()
        client.close()
    except (DockerException, OSError):
        return False
    return True


def images_present() -> bool:
    """True when all images are here or could be pulled in time; says why when not."""
    for image in (KAFKA_IMAGE, POSTGRES_IMAGE, VALKEY_IMAGE):
        problem = _pull_problem(image)
        if problem:
            say(f"a Docker engine answers but {image} can't be had ({problem}); using local processes instead")
            return False
    return True


def _pull_problem(image: str) -> str | None:
    client = docker.from_env(timeout=60)
    try:
        client.images.get(image)
    except (DockerException, OSError):
        return _pull(client, image)
    return None


def _pull(client: Any, image: str) -> str | None:
    outcome: list[str | None] = []

    def pull() -> None:
        try:
            client.images.pull(image)
            outcome.append(None)
        except (DockerException, OSError) as error:
            outcome.append(str(error)[:200])

    with slow_step(f"pulling {image}"):
        thread = threading.Thread(target=pull, daemon=True)
        thread.start()
        thread.join(PULL_WITHIN_S)
    return outcome[0] if outcome else f"no answer within {PULL_WITHIN_S:.0f} s"


def _started(container: DockerContainer) -> Callable[[], None]:
    container.with_kwargs(restart_policy={"Name": "unless-stopped"})
    container.start()
    return container.stop


def start_kafka(port: int) -> Container:
    """Kafka has to advertise the very port clients use, so the host's port is chosen by us."""
    container = DockerContainer(KAFKA_IMAGE).with_bind_ports(port, port)
    host = container.get_container_host_ip()
    settings = {
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
        "KAFKA_LISTENERS": f"PLAINTEXT://0.0.0.0:{port},CONTROLLER://localhost:9093",
        "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://{host}:{port}",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "8",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR": "1",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
        "KAFKA_MESSAGE_MAX_BYTES": str(MAX_MESSAGE_BYTES),
    }
    for name, value in settings.items():
        container.with_env(name, value)
    return Container(f"{host}:{port}", _started(container))


def start_postgres(port: int) -> Container:
    container = DockerContainer(POSTGRES_IMAGE).with_bind_ports(5432, port)
    container.with_env("POSTGRES_PASSWORD", "postgres")
    container.with_command(f"postgres -c max_connections={MAX_CONNECTIONS}")
    stop = _started(container)
    return Container(f"postgresql://postgres:postgres@{container.get_container_host_ip()}:{port}/postgres", stop)


def start_valkey(port: int) -> Container:
    container = DockerContainer(VALKEY_IMAGE).with_bind_ports(6379, port)
    stop = _started(container)
    return Container(f"redis://{container.get_container_host_ip()}:{port}/0", stop)

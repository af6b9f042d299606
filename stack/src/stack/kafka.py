"""Runs Apache Kafka as a plain local process: jars by Maven, one KRaft node, a class archive for speed."""

import base64
import os
import shutil
import subprocess
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path

from stack.java import find_java, version_of
from stack.paths import KAFKA_RECIPE, cache_dir
from stack.ports import free_port
from stack.process import Program, spawn, stop, tail
from stack.progress import CannotStartError, slow_step
from stack.readiness import kafka_answers, wait_until

VERSION = "4.3.1"
READY_WITHIN_S = 60.0
# A record of 1 MB has to pass, and its headers and batch framing come on top.
MAX_MESSAGE_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True)
class KafkaFiles:
    """What a start needs from the cache."""

    java: Path
    class_path: str
    archive: Path


def settings(data: Path, port: int, controller_port: int) -> str:
    """The broker's properties file. The two broker.* lines let a killed broker come back after 5 s instead of 13."""
    return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=8
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
message.max.bytes={MAX_MESSAGE_BYTES}
replica.fetch.max.bytes={MAX_MESSAGE_BYTES}
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=300
"""


def kafka_files() -> KafkaFiles:
    """Jars and class archive, fetched and made on the first call on a machine."""
    jars = _jars()
    java = find_java()
    class_path = ":".join(str(jar) for jar in sorted(jars.glob("*.jar")))
    # The archive belongs to one Java and one list of jars; another Java would ignore it with a warning.
    files = KafkaFiles(java, class_path, jars / f"classes-{version_of(java)}.jsa")
    if not files.archive.exists():
        _make_archive(files)
    return files


def _jars() -> Path:
    home = cache_dir() / f"kafka-{VERSION}"
    if home.exists():
        return home
    maven = shutil.which("mvn")
    if maven is None:
        raise CannotStartError(
            f"Apache Kafka {VERSION} is not in {home} and Maven, which fetches it, is not installed. "
            "Install it (Debian: apt install maven), or start Docker, or set STACK_KAFKA to a broker."
        )
    with slow_step(f"fetching Apache Kafka {VERSION} (70 MB, once on this machine)"):
        part = Path(tempfile.mkdtemp(prefix="kafka-", dir=cache_dir()))
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={part}"]
        command = [maven, "-q", "-B", "-C", "-f", str(KAFKA_RECIPE / "pom.xml"), *goal]
        # Java takes its home from the user database, where a service account's may not exist; HOME is what counts here.
        options = f"{os.environ.get('MAVEN_OPTS', '')} -Duser.home={Path.home()}"
        environment = {**os.environ, "MAVEN_OPTS": options.strip()}
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=600, check=False, env=environment
        )
        if done.returncode != 0:
            shutil.rmtree(part, ignore_errors=True)
            raise CannotStartError(f"Maven could not fetch Kafka: {(done.stdout + done.stderr)[-1500:]}")
        _publish(part, home)
    return home


def _publish(part: Path, home: Path) -> None:
    try:
        part.rename(home)
    except OSError:  # another start was quicker; its copy is as good
        shutil.rmtree(part, ignore_errors=True)


def _format(files: KafkaFiles, properties: Path) -> None:
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    # A leading dash would read as an option.
    arguments = ["kafka.tools.StorageTool", "format", "-t", cluster.replace("-", "A"), "-c", str(properties)]
    command = [str(files.java), "-XX:TieredStopAtLevel=1", "-cp", files.class_path, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    if done.returncode != 0:
        raise CannotStartError(f"Kafka could not format its data folder: {(done.stdout + done.stderr)[-1500:]}")


def prepare(files: KafkaFiles, folder: Path, port: int, controller_port: int, *extra: str) -> Program:
    """Writes the settings, formats a fresh data folder, and returns how to run the broker on `port`."""
    data = folder / "data"
    properties = folder / "server.properties"
    folder.mkdir(parents=True, exist_ok=True)
    properties.write_text(settings(data, port, controller_port))
    if not (data / "meta.properties").exists():
        _format(files, properties)
    log4j = KAFKA_RECIPE / "log4j2.properties"
    jvm = ["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={log4j}"]
    shared = [*extra] or [f"-XX:SharedArchiveFile={files.archive}"]
    argv = (str(files.java), *jvm, *shared, "-cp", files.class_path, "kafka.Kafka", str(properties))
    return Program("kafka", argv, folder / "kafka.log")


def _make_archive(files: KafkaFiles) -> None:
    """One throw-away broker writes the archive as it ends; later starts take 2.4 s instead of 3.9 s."""
    with slow_step("preparing Kafka's class archive (once on this machine)"), tempfile.TemporaryDirectory() as scratch:
        part = Path(scratch) / "classes.jsa"
        port = free_port()
        program = prepare(files, Path(scratch), port, free_port(frozenset({port})), f"-XX:ArchiveClassesAtExit={part}")
        broker = spawn(program)
        try:
            wait_until(lambda: kafka_answers(f"127.0.0.1:{port}"), READY_WITHIN_S, "Kafka", lambda: tail(program.log))
        finally:
            stop(broker, grace_s=60)
        if part.exists():
            shutil.copyfile(part, files.archive.with_suffix(f".{port}"))
            files.archive.with_suffix(f".{port}").rename(files.archive)

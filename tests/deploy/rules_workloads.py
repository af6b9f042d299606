"""How pods run: disruption, spread, stopping, probes, restrictions, images. Each rule returns what breaks it."""

import re
from typing import Any

from common import stopping
from tests.deploy.manifests import NAME, OVERLAYS, Document, Manifests, unlisted

# What is left between the process's own deadline and the kernel's kill.
_MARGIN_S = 5
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
_CONTAINER = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def every_file_is_applied(manifests: Manifests) -> list[str]:
    return [f"{file} is in no kustomization" for file in unlisted(manifests)]


def every_deployment_has_its_budget(manifests: Manifests) -> list[str]:
    findings = []
    budgets = manifests.of("PodDisruptionBudget")
    for deployment in manifests.deployments():
        mine = [b for b in budgets if b.spec["selector"]["matchLabels"].items() <= deployment.pod_labels.items()]
        if len(mine) != 1:
            findings.append(f"{deployment} is held by {len(mine)} budgets")
        findings += [f"{b} must let one pod go" for b in mine if b.spec.get("maxUnavailable") != 1]
    names = {d.pod_labels[NAME] for d in manifests.deployments()}
    findings += [f"{b} holds nothing" for b in budgets if b.spec["selector"]["matchLabels"].get(NAME) not in names]
    return findings


def every_deployment_is_spread(manifests: Manifests) -> list[str]:
    findings = []
    for deployment in manifests.deployments():
        spread = {
            c["topologyKey"]
            for c in deployment.pod.get("topologySpreadConstraints", [])
            if c["labelSelector"]["matchLabels"] == {NAME: deployment.pod_labels[NAME]} and c["maxSkew"] == 1
        }
        missing = {"topology.kubernetes.io/zone", "kubernetes.io/hostname"} - spread
        findings += [f"{deployment} is not spread over {key}" for key in sorted(missing)]
    return findings


def graces_add_up(manifests: Manifests) -> list[str]:
    """The kernel's kill comes after preStop and after the process's own deadline; both run inside the grace."""
    served = {s.spec["selector"][NAME] for s in manifests.of("Service")}
    findings = []
    for deployment in manifests.deployments():
        pause = deployment.container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        # Only who is reached through a Service has endpoints to wait for.
        if (deployment.pod_labels[NAME] in served) != (pause >= 5):
            findings.append(f"{deployment}: preStop of {pause} s")
        needed = pause + stopping.GRACE_S + _MARGIN_S
        if deployment.pod.get("terminationGracePeriodSeconds", 30) < needed:
            findings.append(f"{deployment} needs a grace of {needed:g} s")
    return findings


def probes_mean_what_they_should(manifests: Manifests) -> list[str]:
    findings = []
    for deployment in manifests.deployments():
        probes = {n: deployment.container.get(f"{n}Probe", {}) for n in ("startup", "readiness", "liveness")}
        paths = {name: probe.get("httpGet", {}).get("path") for name, probe in probes.items()}
        if paths["liveness"] != "/livez" or paths["readiness"] != "/readyz" or paths["startup"] is None:
            findings.append(f"{deployment} asks {paths}")
            continue
        if not 120 <= _patience(probes["startup"]) <= 600:
            findings.append(f"{deployment} has {_patience(probes['startup'])} s to start")
        if not 45 <= _patience(probes["liveness"]) <= 180:
            findings.append(f"{deployment} is restarted after {_patience(probes['liveness'])} s")
        ports = {p["name"]: p["containerPort"] for p in deployment.container.get("ports", [])}
        findings += [f"{deployment}: no port {p}" for p in _ports(probes) if p not in ports]
    return findings


def _patience(probe: dict[str, Any]) -> int:
    return int(probe.get("periodSeconds", 10) * probe.get("failureThreshold", 3))


def _ports(probes: dict[str, dict[str, Any]]) -> set[str]:
    return {probe["httpGet"]["port"] for probe in probes.values()}


def pods_are_restricted(manifests: Manifests) -> list[str]:
    findings = []
    for workload in manifests.of("Deployment", "Job"):
        findings += [f"{workload}: {problem}" for problem in _loose(workload)]
        account = manifests.named("ServiceAccount", workload.pod.get("serviceAccountName", ""))
        if account is None or account.name != workload.name:
            findings.append(f"{workload} has no account of its own")
        elif account.body.get("automountServiceAccountToken") is not False:
            findings.append(f"{account} gives its token away")
    for namespace in manifests.of("Namespace"):
        labels = namespace.body["metadata"]["labels"]
        for mode in ("enforce", "audit", "warn"):
            if labels.get(f"pod-security.kubernetes.io/{mode}") != "restricted":
                findings.append(f"{namespace} does not {mode} restricted pods")
    return findings


def _loose(workload: Document) -> list[str]:
    pod, problems = workload.pod, []
    if pod.get("automountServiceAccountToken") is not False:
        problems.append("mounts a token")
    # GATEWAY_PORT=tcp://… of a Service named gateway would stand in for our own setting.
    if pod.get("enableServiceLinks") is not False:
        problems.append("takes variables from Services")
    if any(pod.get(name) for name in ("hostNetwork", "hostPID", "hostIPC")):
        problems.append("shares the host")
    if not _POD.items() <= pod.get("securityContext", {}).items():
        problems.append(f"pod needs {_POD}")
    if not pod["securityContext"].get("runAsUser"):
        problems.append("runs as root")
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        if not _CONTAINER.items() <= container.get("securityContext", {}).items():
            problems.append(f"container needs {_CONTAINER}")
        resources = container.get("resources", {})
        if not {"cpu", "memory"} <= resources.get("requests", {}).keys() or "memory" not in resources.get("limits", {}):
            problems.append("says not what it needs")
    problems += [
        f"volume {volume['name']} is of a kind we don't use"
        for volume in pod.get("volumes", [])
        if not {"emptyDir", "secret", "projected", "configMap"} & volume.keys()
    ]
    return problems


def rollouts_keep_serving(manifests: Manifests) -> list[str]:
    findings = []
    for deployment in manifests.deployments():
        rolling = deployment.spec.get("strategy", {}).get("rollingUpdate", {})
        if rolling != {"maxSurge": 1, "maxUnavailable": 0} or not deployment.spec.get("minReadySeconds"):
            findings.append(f"{deployment} may serve with fewer while it rolls out")
        if deployment.spec.get("replicas", 2) < 2:
            findings.append(f"{deployment} has a single pod")
        # A static member name shared by two pods makes them throw each other out of the group for ever.
        findings += [
            f"{deployment}: pods of a Deployment have no stable name for INSTANCE_ID"
            for overlay in OVERLAYS
            if "INSTANCE_ID" in manifests.environment(deployment, overlay)
        ]
    return findings


def images_come_by_digest(manifests: Manifests) -> list[str]:
    """A base names an image of ours bare; each overlay says from where and which digest. Zeros stand for "not yet"."""
    findings = []
    for workload in manifests.of("Deployment", "Job"):
        image = workload.container["image"]
        if not re.fullmatch(r"till-[a-z]+", image):
            findings.append(f"{workload} names {image} itself")
        for overlay in OVERLAYS:
            mine = [i for i in manifests.overlay(workload.folder, overlay).get("images", []) if i["name"] == image]
            if len(mine) != 1:
                findings.append(f"{workload}: {overlay} does not say which {image}")
                continue
            if not _DIGEST.fullmatch(mine[0].get("digest", "")) or "newTag" in mine[0]:
                findings.append(f"{workload}: {overlay} names {image} by something else than a digest")
            if ":" in mine[0].get("newName", ":").partition("/")[2]:
                findings.append(f"{workload}: {overlay} hides a tag in the name of {image}")
    return findings

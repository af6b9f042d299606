"""Who may reach whom: nothing by default, each edge from both ends, and one service only to the payment provider."""

from typing import Any
from urllib.parse import urlsplit

from tests.deploy.manifests import NAME, OVERLAYS, Document, Manifests

_NAMESPACE = "kubernetes.io/metadata.name"
# Caller → services it calls; each has its reason in the caller's app.py.
EDGES: dict[str, set[str]] = {
    "gateway": {"agent-fixed"},
    "router": set(),
    "agent-fixed": {"toolgateway", "gateway"},
    "agent-rag": set(),
    "agent-loop": {"toolgateway", "gateway"},
    "toolgateway": {"approvals", "agent-rag"},
    "approvals": {"toolgateway", "agent-fixed"},
    "reconciler": {"toolgateway", "agent-fixed"},
    "migrations": set(),
}
# Caller → outside destinations (the egress namespace has one relay a destination) and servers.
OUTSIDE: dict[str, set[str]] = {
    "gateway": {"kafka", "postgres", "redis", "login", "store", "mail"},
    "router": {"kafka"},
    "agent-fixed": {"kafka", "postgres"},
    "agent-rag": {"kafka", "postgres", "redis", "models"},
    "agent-loop": {"kafka", "postgres", "redis", "models"},
    "toolgateway": {"kafka", "postgres", "store", "payments", "staff-login"},
    "approvals": {"kafka", "postgres", "staff-login"},
    "reconciler": {"postgres"},
    "migrations": {"postgres"},
}
# Place → namespace, pods and port.
_PLACES: dict[str, tuple[str, dict[str, str], int]] = {
    "kafka": ("kafka", {"strimzi.io/cluster": "till"}, 9093),
    "postgres": ("postgres", {"cnpg.io/cluster": "till"}, 5432),
    "redis": ("redis", {NAME: "redis"}, 6379),
    "monitoring": ("monitoring", {NAME: "otel-collector"}, 4318),
    **{
        d: ("egress", {"destination": d}, 8443) for d in ("login", "store", "mail", "models", "payments", "staff-login")
    },
}
_PAYMENTS = ("egress", {"destination": "payments"})
# One ConfigMap serves the three agent deployments; this one is given addresses that it never calls.
_GIVEN_BUT_NOT_CALLED = {("agent-rag", "toolgateway"), ("agent-rag", "gateway")}


def nothing_passes_by_default(manifests: Manifests) -> list[str]:
    deny = manifests.named("NetworkPolicy", "default-deny")
    if deny is None or deny.spec != {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}:
        return ["no policy denies everything to every pod"]
    return []


def edges_are_the_declared_ones(manifests: Manifests) -> list[str]:
    """Each edge is allowed by the caller's policy and by the called one's, and there are no others."""
    findings = []
    policies = {p.name: p for p in manifests.of("NetworkPolicy") if p.spec["podSelector"]}
    for workload in manifests.of("Deployment", "Job"):
        policy = policies.get(workload.name)
        if policy is None or policy.spec["podSelector"] != {"matchLabels": {NAME: workload.name}}:
            findings.append(f"{workload} has no policy of its own")
            continue
        if policy.spec["policyTypes"] != ["Ingress", "Egress"]:
            findings.append(f"{policy} rules one way only")
        called = {name for peer in _peers(policy, "egress", "to") if (name := _own(peer))}
        callers = {name for peer in _peers(policy, "ingress", "from") if (name := _own(peer))}
        wanted = {caller for caller, names in EDGES.items() if workload.name in names}
        findings += [f"{policy}: calls {n}" for n in sorted(called ^ EDGES[workload.name])]
        findings += [f"{policy}: is called by {n}" for n in sorted(callers ^ wanted)]
        reached = {name for rule in policy.spec.get("egress") or [] for name in _places(rule)}
        expected = OUTSIDE[workload.name] | ({"monitoring"} if workload.kind == "Deployment" else set())
        findings += [f"{policy}: reaches {n}" for n in sorted(reached ^ expected)]
    return findings


def rules_name_pods_and_ports(manifests: Manifests) -> list[str]:
    """No rule opens a range of addresses, a whole namespace or every port: any of them could hold payments."""
    findings = []
    for policy in manifests.of("NetworkPolicy"):
        for way, ends in (("egress", "to"), ("ingress", "from")):
            for rule in policy.spec.get(way) or []:
                narrow = rule.get(ends) and all(p.get("podSelector", {}).get("matchLabels") for p in rule[ends])
                if not narrow or not rule.get("ports") or not all("port" in port for port in rule["ports"]):
                    findings.append(f"{policy} opens too much: {rule}")
    return findings


def only_the_tool_gateway_reaches_payments(manifests: Manifests) -> list[str]:
    findings, reaching = [], set()
    for policy in manifests.of("NetworkPolicy"):
        rules = policy.spec.get("egress") or []
        if any(_admits(rule, *_PAYMENTS) for rule in rules):
            reaching.add(policy.name)
            if policy.spec["podSelector"] != {"matchLabels": {NAME: "toolgateway"}}:
                findings.append(f"{policy} reaches the payment provider")
    return findings or ([] if reaching else ["nobody reaches the payment provider"])


def _admits(rule: dict[str, Any], namespace: str, labels: dict[str, str]) -> bool:
    """Say whether the rule lets a pod of those labels in that namespace be reached; addresses count as yes."""
    if not rule.get("to"):
        return True
    return any(
        "ipBlock" in peer
        or (
            "namespaceSelector" in peer
            and _matches(peer["namespaceSelector"], {_NAMESPACE: namespace})
            and _matches(peer.get("podSelector", {}), labels)
        )
        for peer in rule["to"]
    )


def _matches(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    # Expressions aren't used here; one that appears is taken at its worst.
    return bool(selector.get("matchLabels", {}).items() <= labels.items())


def addresses_lead_somewhere_allowed(manifests: Manifests) -> list[str]:
    """Each address of ours in the settings is a Service on its port, and its reader may call it."""
    services = {s.name: s for s in manifests.of("Service")}
    findings = []
    for deployment in manifests.deployments():
        for name, value in manifests.environment(deployment, "prod").items():
            url = urlsplit(value)
            if url.scheme != "http" or "." in (url.hostname or ""):
                continue
            host = url.hostname or ""
            if host not in services or services[host].spec["ports"][0]["port"] != url.port:
                findings.append(f"{deployment}: {name}={value} is no Service")
            elif host not in EDGES[deployment.name] and (deployment.name, host) not in _GIVEN_BUT_NOT_CALLED:
                findings.append(f"{deployment}: may not call {name}={value}")
    names = {d.pod_labels[NAME] for d in manifests.deployments()}
    findings += [f"{s} has no pods" for s in services.values() if s.spec["selector"].get(NAME) not in names]
    return findings


def doors_show_no_inside(manifests: Manifests) -> list[str]:
    """No Ingress publishes an internal path; the tool gateway has its webhook published and nothing else."""
    findings = []
    for ingress in manifests.of("Ingress"):
        for path in (p for rule in ingress.spec["rules"] for p in rule["http"]["paths"]):
            covered = [i for i in ("/v1/internal/x", "/metrics", "/readyz", "/livez") if _covers(path, i)]
            findings += [f"{ingress} publishes {inside}" for inside in covered]
            if ingress.name == "toolgateway" and (path["path"], path["pathType"]) != ("/v1/hooks/payments", "Exact"):
                findings.append(f"{ingress} publishes {path['path']}")
        for overlay in OVERLAYS:
            patches = manifests.overlay(ingress.folder, overlay).get("patches", [])
            if not any(p["target"]["kind"] == "Ingress" and "/spec/rules/0/host" in p["patch"] for p in patches):
                findings.append(f"{ingress}: {overlay} gives it no host")
    return findings


def _covers(path: dict[str, str], url: str) -> bool:
    if path["pathType"] == "Exact":
        return path["path"] == url
    return url == path["path"] or url.startswith(path["path"].rstrip("/") + "/")


def _peers(policy: Document, way: str, ends: str) -> list[dict[str, Any]]:
    return [peer for rule in policy.spec.get(way) or [] for peer in rule.get(ends, [])]


def _own(peer: dict[str, Any]) -> str | None:
    if "namespaceSelector" in peer:
        return None
    found: str | None = peer.get("podSelector", {}).get("matchLabels", {}).get(NAME)
    return found


def _places(rule: dict[str, Any]) -> set[str]:
    ports = [port.get("port") for port in rule.get("ports", [])]
    found = set()
    for peer in (p for p in rule.get("to", []) if "namespaceSelector" in p):
        namespace = peer["namespaceSelector"].get("matchLabels", {}).get(_NAMESPACE)
        pods = peer.get("podSelector", {}).get("matchLabels", {})
        named = [n for n, (ns, labels, port) in _PLACES.items() if (ns, labels, [port]) == (namespace, pods, ports)]
        found |= set(named) or {f"{namespace} {pods} {ports}"}
    return found

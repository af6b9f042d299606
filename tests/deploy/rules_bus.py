"""Topics, users and autoscaling say what the code says. Each rule returns what breaks it."""

from typing import Any

from common import topics
from common.producer import MAX_RECORD_BYTES
from tests.deploy import code
from tests.deploy.manifests import OVERLAYS, Document, Manifests

_CLUSTER = {"strimzi.io/cluster": "till"}
# Outside programs and people: they bring consumer groups of their own under a prefix.
_OUTSIDE = {"adapters": "adapters-", "staff": "staff-", "dlq-replay": "dlq-replay-"}
_READ, _WRITE, _LOOK = frozenset({"Read", "Describe"}), frozenset({"Write", "Describe"}), frozenset({"Describe"})
Access = set[tuple[str, str, str, frozenset[str]]]


def topics_are_those_of_the_code(manifests: Manifests) -> list[str]:
    wanted = {t.name: (t.partitions, t.retention_h, t.segment_h) for t in topics.ALL}
    wanted |= {t.dlq: (1, t.retention_h, t.segment_h) for t in topics.ALL}
    found = {d.name: d for d in manifests.of("KafkaTopic")}
    findings = [f"KafkaTopic {name} is missing" for name in sorted(wanted.keys() - found.keys())]
    findings += [f"{found[name]} is no topic of ours" for name in sorted(found.keys() - wanted.keys())]
    for name in sorted(wanted.keys() & found.keys()):
        topic, (partitions, hours, segment_h) = found[name], wanted[name]
        config = topic.spec["config"]
        if topic.body["apiVersion"] != "kafka.strimzi.io/v1" or topic.body["metadata"]["labels"] != _CLUSTER:
            findings.append(f"{topic} is for another operator")
        if topic.spec["partitions"] != partitions:
            findings.append(f"{topic} has not {partitions} partitions")
        if config["retention.ms"] != hours * 3_600_000 or config["cleanup.policy"] != "delete":
            findings.append(f"{topic} is not kept {hours} h")
        if config.get("segment.ms") != segment_h * 3_600_000:
            findings.append(f"{topic} keeps a record more than {segment_h} h longer")
        if topic.spec["replicas"] < 3 or config["min.insync.replicas"] != topic.spec["replicas"] - 1:
            findings.append(f"{topic} is lost with a broker")
        if config["max.message.bytes"] < MAX_RECORD_BYTES:
            findings.append(f"{topic} refuses what our producer may send")
    return findings


def users_may_what_their_code_does(manifests: Manifests) -> list[str]:
    """A service's user has exactly the rights its subscriptions and events need; nobody has a wildcard."""
    findings = []
    known = {name for t in topics.ALL for name in (t.name, t.dlq)}
    users = {u.name: u for u in manifests.of("KafkaUser")}
    for user in users.values():
        for kind, name, pattern, _ in _access(user):
            if kind == "topic" and (name not in known or pattern != "literal"):
                findings.append(f"{user} names topic {name} ({pattern}), which is none")
            if kind == "group" and pattern == "prefix" and name != _OUTSIDE.get(user.name):
                findings.append(f"{user} has every group {name}…")
            if kind not in ("topic", "group"):
                findings.append(f"{user} has rights on a {kind}")
        if user.spec["authentication"] != {"type": "tls"} or user.body["metadata"]["labels"] != _CLUSTER:
            findings.append(f"{user} is known by no certificate")
    for name, pairs in code.subscriptions().items():
        if name not in users:
            findings.append(f"{name} has no KafkaUser")
            continue
        has, needs = _access(users[name]), _needs(name, pairs)
        findings += [f"{users[name]} lacks {_said(right)}" for right in sorted(needs - has, key=str)]
        findings += [f"{users[name]} has {_said(right)} too many" for right in sorted(has - needs, key=str)]
    return findings


def privacy_reaches_every_topic_and_rewrites_only_letters(manifests: Manifests) -> list[str]:
    """What `python -m common.privacy` does, and no more; no service mounts that certificate."""
    user = manifests.named("KafkaUser", "privacy")
    has = _access(user) if user else set()
    needs: Access = {("topic", t.name, "literal", _READ | {"DescribeConfigs"}) for t in topics.ALL}
    needs |= {("topic", t.dlq, "literal", _READ | _WRITE | {"Delete"}) for t in topics.ALL}
    return [f"KafkaUser privacy: {_said(right)}" for right in sorted(has ^ needs, key=str)]


def _needs(name: str, pairs: code.Pairs) -> Access:
    rights: Access = {("topic", topic, "literal", _READ) for topic, _ in pairs}
    rights |= {("topic", topics.BY_NAME[topic].dlq, "literal", _WRITE) for topic, _ in pairs}
    rights |= {("group", group, "literal", frozenset({"Read"})) for _, group in pairs}
    written = code.written_topics(name)
    rights |= {("topic", topic, "literal", _WRITE) for topic in written}
    return rights


def _access(user: Document) -> Access:
    return {
        (a["resource"]["type"], a["resource"].get("name", ""), a["resource"].get("patternType", "literal"), _ops(a))
        for a in user.spec["authorization"]["acls"]
    }


def _ops(acl: dict[str, Any]) -> frozenset[str]:
    return frozenset(acl["operations"])


def _said(right: tuple[str, str, str, frozenset[str]]) -> str:
    kind, name, _, operations = right
    return f"{'+'.join(sorted(operations))} on {kind} {name}"


def subscribers_carry_their_own_certificate(manifests: Manifests) -> list[str]:
    """Who subscribes mounts the secret of its own KafkaUser where KAFKA_TLS_DIR says; nobody else has one."""
    findings = []
    subscribed = code.subscriptions()
    for deployment in manifests.deployments():
        mounted = {
            source["secret"]["name"]
            for volume in deployment.pod["volumes"]
            for source in volume.get("projected", {}).get("sources", [])
            if {item["key"] for item in source["secret"]["items"]} & {"user.key", "user.crt"}
        }
        if mounted != ({deployment.name} if deployment.name in subscribed else set()):
            findings.append(f"{deployment} mounts the certificates of {sorted(mounted)}")
        paths = {m["mountPath"] for m in deployment.container["volumeMounts"]}
        for overlay in OVERLAYS:
            where = manifests.environment(deployment, overlay).get("KAFKA_TLS_DIR")
            if deployment.name in subscribed and where not in paths:
                findings.append(f"{deployment}: {overlay} looks for its certificate in {where}")
    return findings


def lag_scales_what_the_code_reads(manifests: Manifests) -> list[str]:
    """A trigger for each subscription, with the code's topic and group; no more replicas than partitions."""
    findings = []
    subscribed = code.subscriptions()
    for scaled in manifests.of("ScaledObject"):
        target = scaled.spec["scaleTargetRef"]["name"]
        metadata = [t["metadata"] for t in scaled.spec["triggers"] if t["type"] == "kafka"]
        pairs = {(m.get("topic", ""), m["consumerGroup"]) for m in metadata}
        if pairs != subscribed.get(target):
            findings.append(f"{scaled} watches {sorted(pairs)}")
        if any(m.get("offsetResetPolicy", "latest") != code.offset_reset() for m in metadata):
            findings.append(f"{scaled} begins elsewhere than our consumers")
        if any(t["type"] == "kafka" and "authenticationRef" not in t for t in scaled.spec["triggers"]):
            findings.append(f"{scaled} shows no certificate")
        most = min((topics.BY_NAME[t].partitions for t, _ in pairs if t in topics.BY_NAME), default=0)
        findings += [f"{scaled}: {n} replicas for {most} partitions" for n in _maxima(manifests, scaled) if n > most]
        if scaled.spec.get("minReplicaCount", 0) < 2 or "fallback" not in scaled.spec:
            findings.append(f"{scaled} may fall to nothing when a broker is away")
    return findings


def _maxima(manifests: Manifests, scaled: Document) -> list[int]:
    patches = [p["patch"] for o in OVERLAYS for p in manifests.overlay(scaled.folder, o).get("patches", [])]
    patched = [line.split()[-1] for p in patches if "/spec/maxReplicaCount" in p for line in p.splitlines()[-1:]]
    return [scaled.spec["maxReplicaCount"], *map(int, patched)]


def counts_have_one_owner(manifests: Manifests) -> list[str]:
    """Under KEDA nobody else says how many; every reader of customers' work is scaled."""
    scaled = {s.spec["scaleTargetRef"]["name"]: s for s in manifests.of("ScaledObject")}
    wanted = {name for name in code.subscriptions() if name.startswith("agent-")} | {"router", "gateway"}
    findings = [f"{name} does not scale" for name in sorted(wanted - scaled.keys())]
    for name, owner in scaled.items():
        deployment = manifests.named("Deployment", name)
        if deployment is None or "replicas" in deployment.spec:
            findings.append(f"{owner} and a Deployment both count {name}")
            continue
        for overlay in OVERLAYS:
            counted = [r["name"] for r in manifests.overlay(deployment.folder, overlay).get("replicas", [])]
            findings += [f"{owner} and {overlay} both count {name}"] if name in counted else []
    return findings


def keda_may_look_at_what_it_watches(manifests: Manifests) -> list[str]:
    user = manifests.named("KafkaUser", "keda")
    has = _access(user) if user else set()
    metadata = [t["metadata"] for s in manifests.of("ScaledObject") for t in s.spec["triggers"] if t["type"] == "kafka"]
    needs: Access = {("topic", m["topic"], "literal", _LOOK) for m in metadata if "topic" in m}
    needs |= {("group", m["consumerGroup"], "literal", _LOOK) for m in metadata}
    return [f"KafkaUser keda: {_said(right)}" for right in sorted(has ^ needs, key=str)]

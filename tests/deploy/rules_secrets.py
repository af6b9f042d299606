"""Secrets: none in the repository, each read by its own service alone, each private key by its signer."""

from tests.deploy import code
from tests.deploy.manifests import Document, Manifests

_PAYMENT_CREDENTIALS = {"TOOLGATEWAY_PAYMENTS_API_KEY", "TOOLGATEWAY_PAYMENTS_WEBHOOK_SECRET"}
# Made from platform/, public certificates: every service may mount it.
_SHARED = {"authorities"}


def no_secret_is_written_down(manifests: Manifests) -> list[str]:
    findings = [f"{secret} is in the repository" for secret in manifests.of("Secret")]
    for folder, body in manifests.kustomizations.items():
        if "secretGenerator" in body:
            findings.append(f"{folder} generates a secret")
        literals = [x for g in body.get("configMapGenerator", []) for x in g["literals"]]
        for name, _, value in (literal.partition("=") for literal in literals):
            if any(word in name for word in ("KEY", "SECRET", "PASSWORD")) and name != "KEYS_DIR":
                findings.append(f"{folder} says {name} aloud")
            if "@" in value:
                findings.append(f"{folder}: {name} holds a credential")
    return findings


def stores_open_one_path(manifests: Manifests) -> list[str]:
    """Each service's store signs in with an account and role of its own; its secrets come from its own path."""
    findings = []
    for store in manifests.of("SecretStore"):
        sign_in = store.spec["provider"]["vault"]["auth"]["kubernetes"]
        account = manifests.named("ServiceAccount", sign_in["serviceAccountRef"]["name"])
        if sign_in["role"] != f"till-{store.name}" or account is None or account.folder != store.folder:
            findings.append(f"{store} signs in as somebody else")
    for secret in manifests.of("ExternalSecret"):
        store_name = secret.spec["secretStoreRef"]["name"]
        found = manifests.named("SecretStore", store_name)
        if found is None or found.folder != secret.folder or secret.spec["secretStoreRef"]["kind"] != "SecretStore":
            findings.append(f"{secret} reads through {store_name}")
        for entry in secret.spec["data"]:
            if entry["remoteRef"]["key"] != f"trusted-till/{store_name}":
                findings.append(f"{secret} reads {entry['remoteRef']['key']}")
            if entry["remoteRef"]["property"] != entry["secretKey"]:
                findings.append(f"{secret} renames {entry['secretKey']}")
        if secret.spec["target"]["name"] != secret.name or secret.body["apiVersion"] != "external-secrets.io/v1":
            findings.append(f"{secret} is made under another name")
    return findings


def secrets_are_read_by_their_own_service(manifests: Manifests) -> list[str]:
    findings, read = [], set()
    for workload in manifests.of("Deployment", "Job"):
        for name in _mentioned(workload):
            read.add(name)
            secret = manifests.named("ExternalSecret", name)
            if name in _SHARED or name in _certificates(manifests, workload):
                continue
            if secret is None:
                findings.append(f"{workload} reads {name}, which nobody makes")
            elif secret.folder != workload.folder:
                findings.append(f"{workload} reads {secret.folder}'s {name}")
    made = {s.name for s in manifests.of("ExternalSecret")}
    return findings + [f"nobody reads {name}" for name in sorted(made - read)]


def _certificates(manifests: Manifests, workload: Document) -> set[str]:
    return {u.name for u in manifests.of("KafkaUser") if u.name == workload.name}


def _mentioned(workload: Document) -> set[str]:
    names = {s["secretRef"]["name"] for s in workload.container.get("envFrom", []) if "secretRef" in s}
    for volume in workload.pod["volumes"]:
        names |= {volume["secret"]["secretName"]} if "secret" in volume else set()
        names |= {s["secret"]["name"] for s in volume.get("projected", {}).get("sources", [])}
    return names


def credentials_stay_with_their_holder(manifests: Manifests) -> list[str]:
    """Payment credentials are the tool gateway's, a private key its signer's, a model key the model callers'."""
    findings = []
    for secret in manifests.of("ExternalSecret"):
        keys = {entry["secretKey"] for entry in secret.spec["data"]}
        if keys & _PAYMENT_CREDENTIALS and secret.folder != "toolgateway":
            findings.append(f"{secret} holds a payment credential")
        foreign = {key for key in keys if key.endswith(".pem")} - {f"{secret.folder}.pem"}
        findings += [f"{secret} holds {key}" for key in sorted(foreign)]
    for deployment in manifests.deployments():
        given = manifests.environment(deployment, "prod").keys()
        needs_models = "anthropic_api_key" in code.FILLED[deployment.name]
        if bool(given & {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}) != needs_models:
            findings.append(f"{deployment}: model keys are for who calls models")
        databases = {name for name in given if name.endswith("DATABASE_URL")}
        findings += [f"{deployment} has {n}" for n in databases - {f"{deployment.folder.upper()}_DATABASE_URL"}]
    return findings

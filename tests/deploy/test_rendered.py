"""What kustomize really makes of the overlays; skipped where there is no kubectl, since the rules read files, too."""

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from stack.paths import ROOT
from tests.deploy.manifests import LOADER, NAME, OVERLAYS, SECRET_VALUE, Manifests

_KUBECTL = shutil.which("kubectl")
_PARTS = ("platform/overlays", "migrations/overlays", "overlays")
_IMAGE = re.compile(r"[a-z0-9./-]+@sha256:[0-9a-f]{64}")

pytestmark = pytest.mark.skipif(_KUBECTL is None, reason="kubectl is not on PATH: overlays are not rendered")


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def rendered(overlay: str) -> list[dict[str, Any]]:
    """Every object of one overlay, as it would be applied."""
    found = []
    for part in _PARTS:
        folder = ROOT / "deploy/k8s" / part / overlay
        made = subprocess.run(  # the developer's own kubectl, offline
            [str(_KUBECTL), "kustomize", str(folder)], capture_output=True, text=True, timeout=60, check=False
        )
        assert made.returncode == 0, made.stderr
        found += list(yaml.load_all(made.stdout, LOADER))
    return found


def _of(rendered: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [body for body in rendered if body["kind"] in kinds]


def test_everything_lands_in_the_namespace_once(rendered: list[dict[str, Any]], manifests: Manifests) -> None:
    made = [b for b in rendered if b["kind"] != "ConfigMap"]
    assert sorted((b["kind"], b["metadata"]["name"]) for b in made) == sorted(
        (d.kind, d.name) for d in manifests.documents
    )
    homeless = [b for b in rendered if b["kind"] != "Namespace" and b["metadata"].get("namespace") != "trusted-till"]
    assert homeless == []


def test_every_image_is_named_by_digest(rendered: list[dict[str, Any]]) -> None:
    pods = [b["spec"]["template"]["spec"] for b in _of(rendered, "Deployment", "Job")]
    images = [c["image"] for pod in pods for c in pod["containers"]]
    assert len(images) == 9
    assert [image for image in images if not _IMAGE.fullmatch(image)] == []


def test_kustomize_gives_the_settings_that_the_rules_read(
    rendered: list[dict[str, Any]], manifests: Manifests, overlay: str
) -> None:
    maps = {b["metadata"]["name"]: b["data"] for b in _of(rendered, "ConfigMap")}
    for body in _of(rendered, "Deployment"):
        sources = body["spec"]["template"]["spec"]["containers"][0]["envFrom"]
        [name] = [s["configMapRef"]["name"] for s in sources if "configMapRef" in s]
        deployment = manifests.named("Deployment", body["metadata"]["name"])
        assert deployment is not None
        read = manifests.environment(deployment, overlay)
        assert maps[name] == {k: v for k, v in read.items() if v != SECRET_VALUE}
        # The hash makes a changed setting roll the pods.
        assert re.fullmatch(rf"{deployment.folder}-config-[a-z0-9]{{10}}", name)


def test_labels_still_select(rendered: list[dict[str, Any]]) -> None:
    """A kustomize label that reached some selectors and not others would cut pods off from budgets and policies."""
    for body in _of(rendered, "Deployment"):
        name = body["metadata"]["name"]
        pods = body["spec"]["template"]["metadata"]["labels"]
        assert body["spec"]["selector"]["matchLabels"].items() <= pods.items()
        [policy] = [p for p in _of(rendered, "NetworkPolicy") if p["metadata"]["name"] == name]
        assert policy["spec"]["podSelector"]["matchLabels"] == {NAME: pods[NAME]}


def test_hosts_are_the_overlays_own(rendered: list[dict[str, Any]], overlay: str) -> None:
    for body in _of(rendered, "Ingress"):
        [rule], [tls] = body["spec"]["rules"], body["spec"]["tls"]
        assert tls["hosts"] == [rule["host"]]
        assert rule["host"].endswith("staging.example.com") == (overlay == "staging")

"""The manifests as data: every document of deploy/k8s, and what kustomize would make of settings, images and counts."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

# The same YAML at a tenth of the time, where libyaml is there.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

OVERLAYS = ("staging", "prod")
NAME = "app.kubernetes.io/name"
# What a value of a secret looks like to a rule: there, and unknown.
SECRET_VALUE = "from-a-secret-0123456789"


@dataclass(frozen=True)
class Document:
    """One object; ``folder`` is its service's, such as "gateway" or "platform"."""

    folder: str
    file: str
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def spec(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["spec"]
        return found

    @property
    def pod(self) -> dict[str, Any]:
        """The pod spec of a Deployment or Job."""
        found: dict[str, Any] = self.spec["template"]["spec"]
        return found

    @property
    def container(self) -> dict[str, Any]:
        found: dict[str, Any] = self.pod["containers"][0]
        return found

    @property
    def pod_labels(self) -> dict[str, str]:
        found: dict[str, str] = self.spec["template"]["metadata"]["labels"]
        return found

    def __str__(self) -> str:
        return f"{self.file}: {self.kind} {self.name}"


@dataclass(frozen=True)
class Manifests:
    """Everything under one deploy/ folder."""

    root: Path
    documents: tuple[Document, ...]
    kustomizations: Mapping[str, dict[str, Any]]

    def of(self, *kinds: str) -> list[Document]:
        return [d for d in self.documents if d.kind in kinds]

    def named(self, kind: str, name: str) -> Document | None:
        return next((d for d in self.of(kind) if d.name == name), None)

    def deployments(self) -> list[Document]:
        return self.of("Deployment")

    def overlay(self, folder: str, overlay: str) -> dict[str, Any]:
        return self.kustomizations.get(f"k8s/{folder}/overlays/{overlay}", {})

    def settings(self, folder: str, overlay: str) -> dict[str, str]:
        """The ConfigMap of a service: its base's literals, and over them the overlay's."""
        both = (self.kustomizations.get(f"k8s/{folder}/base", {}), self.overlay(folder, overlay))
        literals = (
            literal.partition("=")
            for layer in both
            for generator in layer.get("configMapGenerator", [])
            for literal in generator["literals"]
        )
        return {name: value for name, _, value in literals}

    def environment(self, workload: Document, overlay: str) -> dict[str, str]:
        """What a container's process finds in its environment; secrets count as ``SECRET_VALUE``."""
        found: dict[str, str] = {}
        for source in workload.container.get("envFrom", []):
            if "configMapRef" in source:
                found |= self.settings(workload.folder, overlay)
            secret = self.named("ExternalSecret", source.get("secretRef", {}).get("name", ""))
            if secret is not None:
                found |= {entry["secretKey"]: SECRET_VALUE for entry in secret.spec["data"]}
        return found | {entry["name"]: entry.get("value", SECRET_VALUE) for entry in workload.container.get("env", [])}


@functools.cache
def _parsed(text: str) -> tuple[Any, ...]:
    """A hundred planted faults change one file each: the others are parsed once. Nobody writes into what is read."""
    return tuple(body for body in yaml.load_all(text, LOADER) if body)


def read(root: Path) -> Manifests:
    """Read a deploy/ folder; a file that isn't YAML raises."""
    documents, kustomizations = [], {}
    for file in sorted((root / "k8s").rglob("*.yaml")):
        relative = file.relative_to(root)
        bodies = _parsed(file.read_text())
        if file.name == "kustomization.yaml":
            kustomizations[str(relative.parent)] = bodies[0]
        else:
            documents += [Document(relative.parts[1], str(relative), body) for body in bodies]
    return Manifests(root, tuple(documents), kustomizations)


def unlisted(manifests: Manifests) -> Iterator[str]:
    """Files no kustomization names: written, read by us, and never applied."""
    listed = {
        str(Path(folder) / name) for folder, body in manifests.kustomizations.items() for name in body["resources"]
    }
    yield from sorted({d.file for d in manifests.documents} - listed)

"""The manifests as they are, and a copy in which a test plants one fault."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from stack.paths import ROOT
from tests.deploy.manifests import Manifests, read

Plant = Callable[[str, str, str], Manifests]


@pytest.fixture(scope="session")
def manifests() -> Manifests:
    return read(ROOT / "deploy")


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Replaces the first ``old`` of one file by ``new`` in a copy of deploy/ and reads that; "" makes a new file."""

    def planted(name: str, old: str, new: str) -> Manifests:
        copy = tmp_path / "deploy"
        shutil.copytree(ROOT / "deploy", copy)
        file = copy / name
        if old:
            text = file.read_text()
            assert old in text, f"{name} has no {old!r} any more"
            file.write_text(text.replace(old, new, 1))
        else:
            file.write_text(new)
        return read(copy)

    return planted

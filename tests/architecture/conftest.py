"""A small, well-behaved repository in which a test plants one violation."""

from collections.abc import Callable
from pathlib import Path

import pytest

Plant = Callable[[str, str], None]

_CLEAN = {
    "services/gateway/src/gateway/__init__.py": "",
    "services/gateway/src/gateway/settings.py": '"""Settings."""\n\nimport os\n\nPORT = os.environ["GATEWAY_PORT"]\n',
    "services/gateway/src/gateway/core/codes.py": (
        '"""Codes."""\n\nfrom datetime import datetime\n\nfrom common.money import parse_amount\n\n'
        "from gateway.core import rules\n\n\ndef is_over(end: datetime, now: datetime) -> bool:\n    return now > end\n"
    ),
    "services/gateway/src/gateway/core/rules.py": '"""Rules."""\n\nimport re\n\nfrom pydantic import BaseModel\n',
    "services/gateway/src/gateway/handlers.py": '"""Handlers."""\n\nfrom common.consumer import Consumer\n',
    "services/agent/src/agent/__init__.py": "",
    "libs/common/src/common/consumer.py": (
        '"""The consumer."""\n\nfrom faststream.kafka import KafkaBroker\n\nKafkaBroker().subscriber("t")\n'
    ),
    "sandbox/src/sandbox/app.py": '"""Sandbox."""\n\nfrom common.clock import SystemClock\n',
    "deploy/k8s/gateway/overlays/production/config.yaml": "# no sandbox here\nPROFILE: prod\n",
    "libs/common/pyproject.toml": '[project]\ndependencies = ["aiokafka>=0.14", "till-common"]\n',
    "requirements.lock": "aiokafka==0.14.0 \\\n    --hash=sha256:00\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in _CLEAN.items():
        _write(tmp_path / name, text)
    return tmp_path


@pytest.fixture
def plant(tree: Path) -> Plant:
    """Writes one more file, or another text for one of them, into the small repository."""
    return lambda name, text: _write(tree / name, text)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)

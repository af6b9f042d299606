"""Where things lie on disk: the checkout, its `.run` folder, and the cache that outlives a clone."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
RUN = ROOT / ".run"
KAFKA_RECIPE = ROOT / "stack" / "kafka"


def cache_dir() -> Path:
    """The folder for downloads, outside the checkout so that a second clone starts in seconds."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(base) / "trusted-till"
    path.mkdir(parents=True, exist_ok=True)
    return path

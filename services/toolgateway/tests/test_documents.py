"""What is committed is what the code says."""

import json
from pathlib import Path

from toolgateway.documents import documents

FOLDER = Path(__file__).parents[1]


def test_the_committed_documents_are_fresh() -> None:
    for name, text in documents().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"run python -m toolgateway.documents ({name})"


def test_every_route_says_how_it_refuses() -> None:
    paths = json.loads(documents()["openapi.json"])["paths"]
    for path, operations in paths.items():
        for operation in operations.values():
            expected = "400" if path == "/v1/hooks/payments" else "401"
            assert expected in operation["responses"], path

"""The bug bank's cases at our edges, and the table that says which test covers which case."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stack.paths import ROOT

TABLE = ROOT / "docs" / "bugbank.md"
CASES = ROOT.parent / "shared" / "data" / "bugbank.jsonl"
_ROW = re.compile(r"^\| (?P<id>BB-[A-Z]+-[0-9]{2}) \| [^|]+ \| (?P<said>.+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(?P<file>[\w./]+)::(?P<name>test_\w+)`")


def rows() -> dict[str, str]:
    return {row["id"]: row["said"] for row in _ROW.finditer(TABLE.read_text())}


def test_every_case_has_a_test_that_exists_or_a_reason() -> None:
    said = rows()
    assert len(said) == len(_ROW.findall(TABLE.read_text())) == 104
    for case, text in said.items():
        test = _TEST.fullmatch(text)
        if test is None:
            assert text.startswith(("doesn't apply: ", "no test of its own yet: ")), case
            continue
        source = (ROOT / test["file"]).read_text()
        assert re.search(rf"def {test['name']}\(", source), (case, text)
        named = source.casefold().replace("_", "-")
        area, number = case.rsplit("-", 1)
        # A table's test names its other cases by number alone: "BB-AMT-01, -03".
        assert case.casefold() in named or (area in source and f"-{number}" in source), case


def test_the_table_lists_the_bank_as_it_stands() -> None:
    if not CASES.exists():
        pytest.skip("the bug bank (../shared/data/bugbank.jsonl) is not beside this repository")
    bank = {json.loads(line)["id"] for line in CASES.read_text().splitlines()}
    assert bank == set(rows())


def test_no_money_rule_knows_redis() -> None:
    """BB-RED-03: losing Redis can't raise a limit that never lived there."""
    package = ROOT / "services" / "toolgateway" / "src"
    users = [
        path.name for path in Path(package).rglob("*.py") if re.search(r"import redis|redis_url", path.read_text())
    ]
    assert users == []


@pytest.mark.parametrize("overrides", [{"tracking_hosts": "track.example, carrier.example"}])
@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("https://track.example/1", "https://track.example/1"),
        ("https://eu.carrier.example/1", "https://eu.carrier.example/1"),
        ("https://track.example@evil.example/1", None),
        ("https://track.example.evil.example/1", None),
        ("https://tr\u0430ck.example/1", None),
        ("https://xn--80ak6aa92e.com/", None),
        ("javascript:alert(1)", None),
    ],
)
async def test_bb_uni_04_a_tracking_link_to_a_look_alike_is_not_shown(
    gateway: Any, overrides: Any, link: str, shown: str | None
) -> None:
    gateway.provider.put_order(tracking_url=link)
    for answer in (
        (await gateway.tool("get_order", {"order_id": "4417028"}))["result"],
        (await gateway.tool("list_orders", {}))["result"]["orders"][0],
    ):
        assert answer.get("tracking_url") == shown


def test_a_value_never_ends_a_log_line() -> None:
    """BB-CON-07: one JSON line each, whatever control characters a value holds."""
    values = ["a\nlevel=ERROR done", "a\u0085b", "a\u2028b", "a\x1b[2Jb", "a\x00b", "a\r\nb"]
    code = (
        "import json, sys\nfrom common.telemetry import get_logger, setup_logging\nsetup_logging('t')\n"
        "for value in json.loads(sys.argv[1]): get_logger().info('said', value=value)"
    )
    done = subprocess.run([sys.executable, "-c", code, json.dumps(values)], capture_output=True, check=True, timeout=60)
    lines = done.stderr.split(b"\n")
    assert lines.pop() == b""
    assert [json.loads(line)["value"] for line in lines] == values
    assert not any(mark in done.stderr for mark in (b"\x1b", b"\x00", b"\r", "\u0085".encode(), "\u2028".encode()))

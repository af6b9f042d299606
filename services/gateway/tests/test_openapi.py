"""The committed OpenAPI is what the code says, and no request made from it makes us fail."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway import document

COMMITTED = Path(__file__).parents[1] / "openapi.json"


def test_the_committed_document_is_fresh() -> None:
    assert COMMITTED.read_text() == document.text(), "run: python -m gateway openapi > services/gateway/openapi.json"


@pytest.mark.asyncio(loop_scope="module")
async def test_no_request_made_from_the_document_makes_us_fail(world: Any, tmp_path: Path) -> None:
    conversation = await world.customer("C-1").open()
    config = tmp_path / "schemathesis.toml"
    config.write_text(f'[parameters]\n"path.conversation_id" = "{conversation}"\n')
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config), "run", str(COMMITTED),
        "--url", world.url, "--checks", "not_a_server_error", "--exclude-path-regex", "/events$", "-n", "10",
        "--phases", "coverage,fuzzing", "--seed", "1", "--continue-on-failure", "--no-color",
        "-H", "Authorization: Bearer customer:C-1", "-H", "Accept: application/json",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=tmp_path,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(process.communicate(), 100)
    assert process.returncode == 0, out.decode()[-4_000:]
    assert await world.pool.fetchval("select count(*) from messages where direction = 'inbound'") > 0

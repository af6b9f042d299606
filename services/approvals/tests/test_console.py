"""The console in a real browser: keyboard, the right thing decided, and text that stays text."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.async_api import Page, async_playwright

from common.consumer import Received
from common.events import HandoffOpened
from common.http import serve
from stack import tokens
from stack.ports import free_port

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
KEY = "refund:4417028:L3"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (Debian: apt install chromium)")


@pytest.fixture
async def page(office: Any) -> AsyncIterator[Page]:
    office.neighbours.rows[KEY] = {
        "key": KEY, "version": 3, "status": "awaiting_approval", "kind": "refund", "amount": "250.00",
        "currency": "USD", "order_id": "4417028", "line_id": "L3", "customer_id": "C-1001",
        "policy_reason": "above_automatic_limit",
        "policy_version": "1", "args": {"reason": "<img src=x onerror=alert(1)>"}, "created_at": "2026-11-29T12:00:00Z",
    }  # fmt: skip
    opened = HandoffOpened(
        handoff_id="ho_1", conversation_id="conv_1", customer_id="C-1001", channel="chat", language="en",
        owner_version=2, reason="asked", priority="high", queue="general",
        packet={"next_step": "Call her"}, opened_at=datetime.now(UTC),
    )  # fmt: skip
    office.neighbours.owners.ensure_handoff("conv_1", "ho_1")
    await office.handlers.on_handoff_opened([Received(opened, "ev-1", "conv_1", opened.opened_at, {})])
    stop, port = asyncio.Event(), free_port()
    serving = asyncio.create_task(serve(office.app, "127.0.0.1", port, stop))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = await browser.new_page()
        await page.goto(f"http://127.0.0.1:{port}/", wait_until="load")
        await page.fill("#token", tokens.staff_token(office.keys, "dana", "approver", datetime.now(UTC)))
        await page.click("#sign-in button")
        await page.wait_for_selector("#list [role=option]")
        yield page
        await browser.close()
    stop.set()
    await serving


async def test_a_row_is_approved_by_keyboard_and_customer_text_stays_text(page: Page, office: Any) -> None:
    """BB-CON-03."""
    await page.keyboard.press("j")
    await page.wait_for_selector("#approve")
    assert "<img src=x" in await page.inner_text("#detail")
    assert await page.query_selector("#detail img") is None
    await page.keyboard.press("a")
    await page.locator("#toast", has_text="succeeded").wait_for()
    assert [(key, body["decision"]) for key, body, _ in office.neighbours.decisions] == [(KEY, "approve")]


async def test_a_key_pressed_in_one_queue_never_decides_what_was_open_in_the_other(page: Page, office: Any) -> None:
    await page.keyboard.press("j")
    await page.wait_for_selector("#approve")
    await page.keyboard.press("2")
    assert "Nothing chosen" in await page.inner_text("#detail")
    await page.keyboard.press("a")
    await page.keyboard.press("j")
    await page.wait_for_selector("#claim")
    assert "Call her" in await page.inner_text("#detail")
    await page.keyboard.press("c")
    await page.wait_for_selector("#reply")
    assert office.neighbours.decisions == []
    assert [change["action"] for change in office.neighbours.owners.changes] == ["claim"]


async def test_an_end_the_agent_service_didnt_take_says_so_and_the_same_button_ends_it(page: Page, office: Any) -> None:
    await page.keyboard.press("2")
    await page.keyboard.press("j")
    await page.wait_for_selector("#claim")
    await page.keyboard.press("c")
    await page.wait_for_selector("#return")
    office.neighbours.owners_fault = "down"
    await page.click("#return")
    await page.locator("#toast", has_text="the handoff is still yours, try again").wait_for()
    office.neighbours.owners_fault = ""
    await page.click("#return")
    await page.locator("#n-handoffs", has_text="0").wait_for()
    await page.locator("#list", has_text="Nothing is waiting").wait_for()
    assert office.neighbours.owners.talks["conv_1"].owner == "agent"


async def test_what_a_colleague_left_lying_is_offered_to_claim(page: Page, office: Any) -> None:
    claimed = await office.http.post("/v1/handoffs/ho_1/claim", json={}, headers=office.headers("erik"))
    assert claimed.status_code == 200
    await page.reload(wait_until="load")
    await page.wait_for_selector("#list [role=option]")
    await page.keyboard.press("2")
    await page.click("#list [role=option]")
    await page.locator("#detail", has_text="With erik.").wait_for()
    assert await page.query_selector("#claim") is None
    await office.pool.execute("update handoffs set lease_until = now() - interval '1 s'")
    await page.click("#list [role=option]")
    await page.wait_for_selector("#claim")
    await page.keyboard.press("c")
    await page.wait_for_selector("#reply")
    assert office.neighbours.owners.talks["conv_1"].owner == "dana"

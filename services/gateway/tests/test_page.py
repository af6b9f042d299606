"""The chat page in a real browser: keyboard only, on a phone, in four languages, and text stays text."""

import os
import shutil
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

pytestmark = pytest.mark.asyncio(loop_scope="module")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--lang=en-US",
]  # fmt: skip
EVIL = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> **bold**"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium); the chat page was not looked at")
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        await started.close()


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser, world: Any) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": 390, "height": 780}, locale="en-US")
    opened = await context.new_page()
    opened.set_default_timeout(15_000)
    problems: list[str] = []
    opened.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda e: problems.append(str(e)))
    await opened.goto(world.url)
    yield opened
    await context.close()
    assert problems == []


async def look(page: Page, name: str) -> None:
    """Keep a picture where somebody asked for it."""
    if folder := os.environ.get("PAGE_PICTURES"):
        await page.screenshot(path=f"{folder}/{name}.png")


async def messages(world: Any, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await world.published(count)
    return found


async def test_a_customer_signs_in_writes_and_reads_by_keyboard_alone(world: Any, page: Page) -> None:
    """BB-CON-01."""
    await look(page, "sign-in")
    await page.focus("#token")
    await page.keyboard.type("customer:C-1")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#chat:not([hidden])")
    assert await page.evaluate("document.activeElement.id") == "text"
    await page.keyboard.type("My kettle is broken")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("Can I have my money back?")
    await page.keyboard.press("Enter")
    [sent] = await messages(world, 1)
    assert sent["text"] == "My kettle is broken\nCan I have my money back?"
    conversation, message = sent["conversation_id"], sent["message_id"]

    await world.reply(conversation, message, [{"event": "status", "data": {"text": "Looking at your order…"}}])
    await expect(page.locator("#progress")).to_have_text("Looking at your order…")
    refund = {"type": "refund", "key": "refund:1:L1", "amount": "39.00", "currency": "USD", "order_id": "1"}
    citations = [
        {"article_id": "returns", "title": "Returns", "url": "https://store.example/returns"},
        {"article_id": "x", "title": "Trap", "url": "javascript:document.title='owned'"},
    ]
    steps = [
        {"event": "action", "data": {**refund, "status": "pending"}},
        {"event": "action", "data": {**refund, "status": "succeeded"}},
        {"event": "token", "data": {"text": "I have refunded "}},
        {"event": "token", "data": {"text": "39.00 USD. " + EVIL}},
        {
            "event": "done",
            "data": {"message_id": message, "route": "agent", "handoff": False, "citations": citations,
                     "reply": "I have refunded 39.00 USD. " + EVIL},
        },
    ]  # fmt: skip
    await world.reply(conversation, message, steps, start=2)
    await page.wait_for_selector("#log .sources a")
    assert await page.inner_text("#log li.agent .body") == "I have refunded 39.00 USD. " + EVIL
    assert await page.inner_text("#log li.action") == "Refund 39.00 USD: done"
    assert await page.locator("#log img, #log script").count() == 0
    assert await page.locator("#log .sources a").count() == 1
    assert await page.text_content("#progress") == ""
    assert await page.title() == "Support"
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await look(page, "answer")


async def test_a_visitor_is_told_that_an_ai_answers_and_when_a_person_takes_over(world: Any, page: Page) -> None:
    assert "AI assistant" in await page.inner_text("#who")
    await page.click("#visitor")
    await page.wait_for_selector("#chat:not([hidden])")
    await page.click("#person")
    [sent] = await messages(world, 1)
    assert (sent["visitor"], sent["text"]) == (True, "I would like to talk to a person.")
    done = {
        "message_id": sent["message_id"],
        "route": "human",
        "handoff": True,
        "citations": [],
        "reply": "Dana is here.",
    }
    await world.reply(sent["conversation_id"], sent["message_id"], [{"event": "done", "data": done}])
    await page.wait_for_selector("#handoff:not([hidden])")
    assert "person" in await page.inner_text("#who")
    await look(page, "handoff")


async def test_every_word_of_the_page_exists_in_four_languages(world: Any, page: Page) -> None:
    seen = set()
    for language in ("en", "es", "fr", "de"):
        await page.select_option("#language", language)
        words = await page.evaluate("[...document.querySelectorAll('[data-t]')].map((n) => n.textContent)")
        assert all(words)
        seen.add(tuple(words))
        assert await page.evaluate("document.documentElement.lang") == language
    assert len(seen) == 4
    missing = await page.evaluate("Object.keys(WORDS.en).filter((w) => !['es','fr','de'].every((l) => WORDS[l][w]))")
    assert missing == []
    await look(page, "german")


async def test_a_lost_connection_goes_on_where_it_broke(world: Any, page: Page) -> None:
    await page.click("#visitor")
    await page.wait_for_selector("#chat:not([hidden])")
    await page.fill("#text", "What is your return policy?")
    await page.keyboard.press("Enter")
    [sent] = await messages(world, 1)
    await world.reply(sent["conversation_id"], sent["message_id"], [{"event": "token", "data": {"text": "Thirty "}}])
    await expect(page.locator("#log li.agent .body")).to_have_text("Thirty")
    for stream in world.gateway.hub.streams():
        stream.close()
    done = {
        "message_id": sent["message_id"],
        "route": "rag",
        "handoff": False,
        "citations": [],
        "reply": "Thirty days.",
    }
    rest = [{"event": "token", "data": {"text": "days."}}, {"event": "done", "data": done}]
    await world.reply(sent["conversation_id"], sent["message_id"], rest, start=2)
    await expect(page.locator("#log li.agent .body")).to_have_text("Thirty days.")
    assert await page.locator("#log li.agent").count() == 1


async def test_the_browser_may_load_nothing_from_elsewhere(world: Any, page: Page) -> None:
    async with world.http.get(world.url) as r:
        policy = r.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    hosts = await page.evaluate("performance.getEntriesByType('resource').map((e) => new URL(e.name).host)")
    assert {h for h in hosts if h} <= {world.url.removeprefix("http://")}

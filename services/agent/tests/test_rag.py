"""Policy answers over a real run store and the real help center: grounded and cited, or plain search results."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import pytest

from agent.adapters.search_index import SearchIndex, build_index
from agent.core.retrieval.grounding import check_grounding
from agent.core.state import ConversationState, Memory
from agent.rag import PolicyAnswers
from common.clock import SystemClock
from common.models import ModelsDown, ModelTurn, Usage

QUESTION = "How many days do I have to return an item?"
GOOD = "You have 30 days from the day of delivery to return most items [returns-en]."


@lru_cache(maxsize=1)
def index() -> SearchIndex:
    return build_index()


def says(text: str, stop: str = "end_turn") -> ModelTurn:
    return ModelTurn(text, (), stop, Usage(100, 20), "fake", "fake-small")


@pytest.fixture
def answer(make_bench: Any, make_work: Any) -> Any:
    async def run(
        *turns: Any, question: str = QUESTION, status: str = "active", meanwhile: Any = None, **over: Any
    ) -> tuple[Any, dict[str, Any]]:
        bench = make_bench(*turns)
        answers = PolicyAnswers(
            pool=bench.pool,
            runs=bench.parts.runs,
            customers=bench.parts.customers,
            ledger=bench.parts.ledger,
            index=index(),
            models=bench.models,
            tokens=bench.parts.tokens,
            guard=bench.guard,
            is_grounded=lambda text, passages, asked: check_grounding(text, passages, asked).ok,
            clock=SystemClock(),
            small_model="fake-small",
        )
        await bench.arrive(make_work(question, route="rag", intent="policy_question", **over))
        await bench.pool.execute("update conversations set status = $1", status)
        if meanwhile is not None:
            await meanwhile(bench)
        await answers.play(await bench.claim(routes=("rag",)))
        return bench, await bench.done()

    return run


async def test_a_covered_question_is_answered_with_its_citation(answer: Any) -> None:
    bench, done = await answer(says(GOOD))
    assert done["reply"] == GOOD
    assert [c["article_id"] for c in done["citations"]] == ["returns-en"]
    assert bench.models.requests[0].size == "small"
    shown = bench.models.requests[0].messages[0]["content"][0]["text"]
    assert '<passage id="1" article_id=' in shown
    assert shown.endswith(f"<question>{QUESTION}</question>")


@pytest.mark.parametrize(
    "text",
    [
        "You have 45 days to return it [returns-en].",
        "You have 30 days to return it.",
        "You have 30 days to return it [made-up-en].",
        "I have refunded your order [returns-en].",
    ],
)
async def test_an_answer_that_code_cannot_bear_out_becomes_search_results(answer: Any, text: str) -> None:
    _, done = await answer(says(text))
    assert text not in done["reply"]
    assert "https://" in done["reply"]
    assert done["citations"]


@pytest.mark.parametrize(
    ("row", "away", "told"), [("succeeded", False, True), ("failed", False, False), ("succeeded", True, False)]
)
async def test_a_deed_in_a_policy_answer_is_told_only_if_the_ledger_says_so_now(
    answer: Any, row: str, away: bool, told: bool
) -> None:
    text = "We have refunded your order. You have 30 days from the day of delivery to return most items [returns-en]."
    known = {"key": "refund:4417028:L2", "kind": "refund", "status": "succeeded", "order_id": "4417028"}

    async def move(bench: Any) -> None:
        state = ConversationState(memory=Memory(actions={known["key"]: known}))
        await bench.pool.execute("update conversations set run_state = $1", state.model_dump(mode="json"))
        bench.tools.ledger, bench.tools.ledger_down = {known["key"]: known | {"status": row}}, away

    _, done = await answer(says(text), meanwhile=move)
    assert (done["reply"] == text) is told


async def test_without_a_model_the_customer_gets_search_results_and_the_offer_of_a_person(answer: Any) -> None:
    _, done = await answer(ModelsDown("both down"))
    assert "These help pages may answer" in done["reply"]
    assert "pass you to a colleague" in done["reply"]
    assert done["handoff"] is False


@pytest.mark.parametrize("turn", [says("NOT_COVERED"), says("You have 30", stop="max_tokens")])
async def test_what_the_passages_do_not_cover_is_never_guessed(answer: Any, turn: ModelTurn) -> None:
    _, done = await answer(turn)
    assert "found no help page" in done["reply"]


async def test_a_question_far_from_every_article_asks_no_model(answer: Any) -> None:
    bench, done = await answer(question="What is the airspeed of an unladen swallow?")
    assert bench.models.requests == []
    assert "found no help page" in done["reply"]


@pytest.mark.parametrize("turn", [says(GOOD), ModelsDown("both down")], ids=["answered", "results"])
@pytest.mark.parametrize("before", ["waiting_approval", "active"])
async def test_a_policy_answer_leaves_a_waiting_row_waiting(answer: Any, turn: Any, before: str) -> None:
    bench, _ = await answer(turn, status=before)
    assert await bench.pool.fetchval("select status from conversations") == before


async def test_under_overload_policy_questions_are_answered_without_the_model(answer: Any) -> None:
    bench, done = await answer(received_at=datetime.now(UTC) - timedelta(seconds=30))
    assert bench.models.requests == []
    assert "https://" in done["reply"]


class Writing:
    """A model that writes each answer piece by piece and waits where it is told to; only its last try counts."""

    def __init__(self, *tries: list[Any]) -> None:
        self.tries, self.requests = list(tries), list[Any]()

    async def ask(self, request: Any, _budget_s: float, _priority: str, hearer: Any) -> ModelTurn:
        while True:
            self.requests.append(await hearer.begin(request))
            text = ""
            for step in self.tries.pop(0):
                if step is None:
                    break
                if callable(step):
                    await step()
                else:
                    text += step
                    hearer.hear(step)
            else:
                return says(text)


@pytest.fixture
def write(make_bench: Any, make_work: Any) -> Any:
    async def run(*tries: list[Any]) -> tuple[Any, list[str], dict[str, Any]]:
        bench, models = make_bench(), Writing(*tries)

        async def tokens() -> list[str]:
            return [e["data"]["text"] for e in await bench.events() if e["event"] == "token"]

        async def first_is_out() -> None:
            async with asyncio.timeout(20):
                while not await tokens():  # noqa: ASYNC110 - the outbox has no event to wait for
                    await asyncio.sleep(0.01)

        models.tries = [[first_is_out if step is ... else step for step in one] for one in tries]
        any_models: Any = models
        answers = PolicyAnswers(
            pool=bench.pool,
            runs=bench.parts.runs,
            customers=bench.parts.customers,
            ledger=bench.parts.ledger,
            index=index(),
            models=any_models,
            tokens=bench.parts.tokens,
            guard=bench.guard,
            is_grounded=lambda text, passages, asked: check_grounding(text, passages, asked).ok,
            clock=SystemClock(),
            small_model="fake-small",
        )
        await bench.arrive(make_work(QUESTION, route="rag", intent="policy_question"))
        await answers.play(await bench.claim(routes=("rag",)))
        done = await bench.done()
        assert "".join(await tokens()) == done["reply"]
        return models, await tokens(), done

    return run


async def test_a_cited_and_grounded_sentence_leaves_while_the_next_is_being_written(write: Any) -> None:
    _, tokens, done = await write([f"{GOOD} ", "Write ", ..., "to us."])
    assert tokens == [GOOD, " Write to us."]
    assert [c["article_id"] for c in done["citations"]] == ["returns-en"]


async def test_a_sentence_waits_for_the_citation_that_follows_it(write: Any) -> None:
    _, tokens, _ = await write(["You can return most items. ", f"{GOOD} ", "Write ", ..., "to us."])
    assert tokens == ["You can return most items.", f" {GOOD}", " Write to us."]


async def test_a_figure_that_no_passage_holds_turns_the_rest_into_search_results(write: Any) -> None:
    _, tokens, done = await write([f"{GOOD} ", "It costs 77 dollars [returns-en]. ", ..., "Bye."])
    assert tokens[0] == GOOD
    assert "77" not in done["reply"]
    assert "https://" in done["reply"]
    assert "returns-en" in [c["article_id"] for c in done["citations"]]


async def test_an_answer_that_breaks_off_is_gone_on_with(write: Any) -> None:
    models, tokens, _ = await write([f"{GOOD} ", "Write ", ..., None], [f"{GOOD} Write to us."])
    assert tokens == [GOOD, " Write to us."]
    assert models.requests[1].messages[-2]["content"][0]["text"] == GOOD


async def test_a_visitor_gets_policy_answers(answer: Any) -> None:
    _, done = await answer(says(GOOD), customer_id=None)
    assert done["reply"] == GOOD


async def test_an_angry_policy_question_goes_to_a_person(answer: Any) -> None:
    _, done = await answer(sentiment=-0.9)
    assert done["handoff_reason"] == "upset"

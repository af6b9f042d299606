"""Policy and product questions: an answer from help-center passages, checked by code, or the plain search results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from agent.adapters.customers import Customers
from agent.adapters.ledger import Ledger
from agent.adapters.run_store import ClaimedRun, Ending, RunStore
from agent.adapters.search_index import SearchIndex
from agent.adapters.tokens import TokenCounter
from agent.core.claims import split_sentences
from agent.core.claims.opinion import Reader
from agent.core.endings import close_turn
from agent.core.facts import facts_now
from agent.core.handoff import HandOver, decide_handoff
from agent.core.hours import ALWAYS, StaffHours
from agent.core.limits import Limits
from agent.core.live_words import new_sentences
from agent.core.policy_answers import (
    NOT_COVERED,
    POLICY_SYSTEM,
    Json,
    answer_context,
    citations,
    listed,
    not_covered,
    question_message,
    search_results,
    without_citations,
)
from agent.core.policy_claims import false_deeds, speaks_of_deeds
from agent.core.prompt import bundle_version
from agent.core.replies import Address
from agent.core.retrieval.passages import Passage, Retrieval
from agent.core.situation import situation_of
from agent.core.state import RunProgress, SavedTurn
from agent.core.wording import say
from agent.loop.handing_over import hand_over
from agent.loop.live import LiveReply, Passed
from agent.spending import Spending, spending
from common import db
from common.clock import Clock
from common.guard import Guard
from common.models import ModelGateway, ModelRequest, ModelsDown, TokensSpent
from common.telemetry import get_logger

_log = get_logger()
_PASSAGES = 4
# A model that takes longer than this is worse for the customer than a list of pages.
_MODEL_BUDGET_S = 12.0
# A question that already waited this long is answered with search results: policy answers are shed before live
# actions are (SPEC §13, overload).
_SHED_AFTER_S = 20.0

Grounding = Callable[[str, Sequence[Passage], str], bool]


@dataclass(frozen=True)
class Answer:
    """Sentences to send, what they cite, and how they came about."""

    sentences: list[str]
    citations: list[Json]
    outcome: str


@dataclass(frozen=True)
class PolicyAnswers:
    """``is_grounded``: every citation and every figure of an answer stands in the passages; ``reader``: see `Parts`."""

    pool: db.Database
    runs: RunStore
    customers: Customers
    ledger: Ledger
    index: SearchIndex
    models: ModelGateway
    tokens: TokenCounter
    guard: Guard
    is_grounded: Grounding
    clock: Clock
    small_model: str
    staff: StaffHours = ALWAYS
    limits: Limits = field(default_factory=Limits)
    reader: Reader | None = None

    async def play(self, run: ClaimedRun) -> None:
        """Answer one claimed run of the rag route."""
        async with spending(self.tokens, run, self.limits) as spent:
            try:
                await self._play(run, spent)
            except TokensSpent as error:
                # A try broke off and used up the rest.
                await self._hand_over(run, spent, HandOver("budget", error.reason))

    async def _play(self, run: ClaimedRun, spent: Spending) -> None:
        work, state = run.work, run.state
        progress = state.run_for(run.message_id)
        elapsed_s = max(0.0, (self.clock.now() - work.message.received_at).total_seconds())
        due = decide_handoff(situation_of(work, state.memory, progress, elapsed_s=elapsed_s))
        if due is not None:
            await self._hand_over(run, spent, due)
            return
        found = self.index.search(work.message.text, work.language, _PASSAGES)
        answer = await self._answer(run, spent, found, shed=elapsed_s > _SHED_AFTER_S)
        now = self.clock.now()
        progress.moved_rows += answer.outcome == "answered"
        close_turn(work, state.memory, progress, elapsed_s=elapsed_s)
        events = Address.of(work.message, run.owner_version).spoken(
            progress.next_seq, "rag", answer.sentences, citations=answer.citations, said=progress.said
        )
        said = " ".join([*progress.said, *answer.sentences])
        await spent.book()
        await self.runs.finish(run, Ending(answer.outcome, events, said, self._version, state=state), now)

    @cached_property
    def _version(self) -> str:
        return bundle_version(POLICY_SYSTEM, (), (self.small_model,))

    async def _hand_over(self, run: ClaimedRun, spent: Spending, why: HandOver) -> None:
        await spent.book()
        await hand_over(
            self.runs,
            self.customers,
            self.clock,
            run,
            why,
            ledger=self.ledger,
            route="rag",
            staff=self.staff,
        )

    async def _answer(self, run: ClaimedRun, spent: Spending, found: Retrieval, *, shed: bool) -> Answer:
        language, progress = run.work.language, run.state.run_for(run.message_id)
        if not found.answerable:
            return Answer(not_covered(language), [], "not_covered")
        if shed:
            return _results(run, found.passages)
        try:
            turn = progress.turn or await self._model_turn(run, spent, progress, found.passages)
        except ModelsDown as error:
            _log.warning("no model for a policy answer", error=error.reason)
            return _results(run, found.passages)
        text = turn.text.strip()
        if turn.stop_reason != "end_turn" or not text or NOT_COVERED in text:
            # What was said of it before it broke off was true, and can't be called an answer that wasn't found.
            said = " ".join(progress.said)
            words = [say(language, "offer_person")] if said else not_covered(language)
            return Answer(words, citations(said, found.passages), "not_covered")
        if not self._is_grounded(run, text, found.passages) or not await self._holds(run, text, found.passages):
            return _results(run, found.passages)
        unsaid = split_sentences(text if turn.unsaid is None else turn.unsaid)
        return Answer(new_sentences(unsaid, progress.said), citations(text, found.passages), "answered")

    async def _model_turn(
        self, run: ClaimedRun, spent: Spending, progress: RunProgress, passages: Sequence[Passage]
    ) -> SavedTurn:
        """Return the model's whole answer, saved before it is used so that a successor doesn't ask again."""
        request = ModelRequest(
            system=POLICY_SYSTEM,
            context=answer_context(run.work.language),
            messages=(question_message(run.work.message.text, passages),),
            size="small",
            max_tokens=400,
            subject=run.conversation_id,
        )
        email = run.work.message.channel == "email"
        live = LiveReply(self.runs, run, self.clock, partial(self._judge_early, run, passages))
        progress.prompt_version = self._version
        try:
            async with live:
                turn = await self.models.ask(request, _MODEL_BUDGET_S, "email" if email else "live", live)
        finally:
            # Rows move while a model writes, whether it comes to an end or not.
            run.rows_read_at = None
        progress.model_calls += 1
        progress.turn = live.saved(turn, [])
        await spent.book()
        await self.runs.checkpoint(run)
        return progress.turn

    async def _judge_early(
        self,
        run: ClaimedRun,
        passages: Sequence[Passage],
        sentences: list[str],
        _continued: bool,  # noqa: FBT001 - a Judge
    ) -> Passed:
        """Let out the sentences up to which the answer, cut off right there, would be cited and grounded."""
        said = run.state.run_for(run.message_id).said
        for count in range(len(sentences), 0, -1):
            text = " ".join([*said, *sentences[:count]])
            if NOT_COVERED not in text and self._is_grounded(run, text, passages):
                if not await self._holds(run, text, passages):
                    return Passed([], 0, stop=True)
                return Passed(new_sentences(sentences[:count], said), count, stop=False)
        # The citation may still come.
        return Passed([], 0, stop=False)

    def _is_grounded(self, run: ClaimedRun, text: str, passages: Sequence[Passage]) -> bool:
        return bool(citations(text, passages)) and self.is_grounded(text, passages, run.work.message.text)

    async def _holds(self, run: ClaimedRun, text: str, passages: Sequence[Passage]) -> bool:
        """A policy answer claims no deed; if it does, it is held to the ledger like any other reply."""
        answer, language, shown = without_citations(text), run.work.language, [p.text for p in passages]
        if speaks_of_deeds(answer, language, shown, self.reader):
            current = await self.ledger.refresh(run, self.ledger.brief_s)
            facts = facts_now(run.state.memory, run.state.run_for(run.message_id), current=current)
            if false_deeds(answer, language, facts, shown, self.reader):
                return False
        return (await self.guard.check(text, "reply")).verdict != "flagged"


def _results(run: ClaimedRun, passages: Sequence[Passage]) -> Answer:
    """The plain search results; they may follow sentences that an answer had already brought out."""
    said = " ".join(run.state.run_for(run.message_id).said)
    shown = listed(passages)
    cited = [c for c in citations(said, passages) if c not in shown]
    return Answer(search_results(run.work.language, passages), [*cited, *shown], "search_results")

"""Plays one claimed run of the agent route: look at the checkpoint, take one step, save, again until it has ended."""

import contextlib
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import assert_never

from agent.adapters.run_store import ClaimedRun, Ending
from agent.adapters.store import load_transcript
from agent.adapters.toolgateway import SessionOver
from agent.core.confirming import Moment, hold_for_yes, needs_read_back, read_back_question, take_up_held_call
from agent.core.endings import close_turn, waits_for_approval
from agent.core.facts import FINAL
from agent.core.guarding import guard_of, take_in_words
from agent.core.handoff import HandOver, decide_handoff
from agent.core.links import links_said, remember_links
from agent.core.prompt import context_note, conversation_messages, in_window, mend_request, said_since
from agent.core.replies import Address
from agent.core.situation import Wording, situation_of
from agent.core.state import RunProgress
from agent.core.steps import AskModel, CheckInput, CloseRound, GiveUp, RunTool, Speak, Step, next_step, out_of_time
from agent.core.toolcalls import (
    WRITES,
    Answer,
    Run,
    assistant_message,
    canonical_call,
    results_message,
    save_calls,
)
from agent.core.unheard import forget_heard
from agent.core.wording import Phrase
from agent.loop.catalogue import Bundle
from agent.loop.guarding import judge_texts
from agent.loop.handing_over import hand_over
from agent.loop.live import LiveReply
from agent.loop.parts import Parts
from agent.loop.speaking import judge_early, judge_words, safe_words
from agent.loop.tools import TROUBLE, book_refusal, book_unseen_rows, judge_next, once_back, run_call
from agent.spending import Spending, spending
from common.models import BudgetSpent, ModelRequest, ModelsDown, TokensSpent


class Play:
    """One run from wherever its checkpoint stands to its end. Raises LostClaim and TakenOver from the store."""

    def __init__(self, parts: Parts, run: ClaimedRun, bundle: Bundle, spent: Spending) -> None:
        self.parts, self.run, self.bundle, self.spent = parts, run, bundle, spent
        self.memory = run.state.memory
        self.progress: RunProgress = run.state.run_for(run.message_id)
        self.ended = False
        self.wording = Wording.of(run.work)
        # Nothing was awaited since the last save found the conversation still ours.
        self.still_ours = False

    async def to_the_end(self) -> None:
        """Take steps until the message is answered or a person has it."""
        await self._begin()
        while not self.ended:
            step = next_step(self.progress, self.parts.limits)
            self._mind_the_time(step)
            await self._hand_over_if_due()
            if not self.ended:
                await self._take(step)

    async def _begin(self) -> None:
        progress, work = self.progress, self.run.work
        if progress.rounds:
            return
        self.memory.customer = await self.parts.customers.of_message(work.message, self.memory.customer)
        # The first message has nothing before it, and nothing after it as long as nobody else had the conversation.
        is_first = work.message.seq == 1 and self.run.owner_version == 1
        transcript = [] if is_first else await load_transcript(self.parts.pool, self.run.conversation_id, 40)
        since = said_since(self.run.message_id, transcript)
        earlier = [e for e in transcript if e["message_id"] != self.run.message_id and e not in since]
        progress.rounds = conversation_messages(work, earlier, [e["text"] for e in since])
        take_in_words(self.memory, in_window(earlier), self.run.message_id, work.message.text)
        ours = (link for e in [*earlier, *since] if e["sender"] != "customer" for link in links_said(e["text"]))
        remember_links(self.memory.links, [link for link in ours if link not in self.memory.links])
        told = [e["message_id"] for e in earlier if e["sender"] != "customer"]
        moment = Moment(self.run.owner_version, told[-1] if told else None)
        held = self.memory.held_call
        canonical = canonical_call(held["name"], held["args"]) if held else None
        take_up_held_call(work, self.memory, progress, canonical, moment)
        await self._show_the_model_what_moved()

    async def _show_the_model_what_moved(self) -> None:
        """Read the rows that may have moved behind our back: open ones, and all that people may have acted on.

        What changes otherwise comes as an event (outcomes.py); what is said is held against the ledger in any case.
        """
        is_open = any(row.get("status") not in FINAL for row in self.memory.actions.values())
        if is_open or self.run.owner_version > 1:
            await self.parts.ledger.refresh(self.run, self.parts.ledger.brief_s)
        forget_heard(self.memory)

    async def _take(self, step: Step) -> None:
        match step:
            case CheckInput():
                await self._check_input()
            case AskModel():
                await self._ask_model()
            case RunTool(position):
                await self._run_tool(position)
            case CloseRound():
                await self._close_round()
            case Speak(text):
                await self._speak(text)
            case GiveUp(detail, is_limit):
                await self._hand_over(HandOver("budget" if is_limit else "stuck", detail))
            case _:
                assert_never(step)

    async def _check_input(self) -> None:
        reasons = await judge_texts(self.parts, self.progress, self.memory, self.memory.unjudged)
        self.progress.guard, self.progress.guard_reasons = guard_of(self.memory), reasons[:20]

    async def _ask_model(self) -> None:
        left_s = self.parts.left_s(self.progress)
        request = ModelRequest(
            system=self.bundle.system,
            context=context_note(self.run.work, self.memory),
            messages=tuple(self.progress.rounds),
            tools=self.bundle.tools,
            subject=self.run.conversation_id,
        )
        priority = "email" if self.run.work.message.channel == "email" else "live"
        self.run.rows_read_at = None
        self.still_ours, self.progress.prompt_version = False, self.bundle.version
        live = LiveReply(self.parts.runs, self.run, self.parts.clock, partial(judge_early, self.parts, self.run))
        try:
            try:
                async with live:
                    turn = await self.parts.models.ask(request, left_s, priority, live)  # type: ignore[arg-type]
            finally:
                # Rows move while a model writes, whether it comes to an end or not.
                self.run.rows_read_at = None
        except TokensSpent as error:
            await self._hand_over(HandOver("budget", error.reason))
            return
        except BudgetSpent as error:
            await self._hand_over(HandOver("budget", error.reason), notice="handoff_no_model")
            return
        except ModelsDown as error:
            await self._hand_over(HandOver("stuck", f"no model: {error.reason}"[:300]), notice="handoff_no_model")
            return
        self.progress.model_calls += 1
        calls = save_calls(turn, self.progress)
        saved = live.saved(turn, calls)
        broken = turn.stop_reason not in ("tool_use", "end_turn", "stop_sequence") or not (calls or saved.text.strip())
        self.progress.broken_turns += broken
        # An empty turn is asked again; a cut-off text without calls is not an answer either.
        self.progress.turn = None if broken and not calls else saved
        await self._save()

    async def _run_tool(self, position: int) -> None:
        judged = judge_next(self.parts, self.bundle.schemas, self.progress, position)
        if isinstance(judged, Answer):
            book_refusal(judged, self.progress)
            if self.progress.invented_in_a_row >= self.parts.limits.invented_tools_in_a_row:
                await self._hand_over(HandOver("stuck", "the model keeps calling tools that don't exist"))
            return
        if needs_read_back(self.run.work, self.progress, judged):
            await self._read_back(judged)
            return
        if judged.name in WRITES and not self.still_ours:
            # Whoever took the conversation over since the last step must find nothing moved behind their back (R14).
            await self._save()
        self.still_ours, self.run.rows_read_at = False, None
        try:
            await run_call(self.parts, self.run, judged)
        except SessionOver:
            await self._hand_over(HandOver("stuck", "the session ended"), notice="session_over")
            return
        await self._save()

    async def _close_round(self) -> None:
        progress = self.progress
        assert progress.turn is not None
        progress.rounds.append(assistant_message(progress.turn.text, progress.turn.calls))
        progress.rounds.append(results_message(progress.turn.calls, progress.results))
        progress.turn, progress.results, progress.said_in_rounds = None, {}, len(progress.said)

    async def _speak(self, text: str) -> None:
        progress = self.progress
        assert progress.turn is not None
        ledger = self.parts.ledger
        within_s = max(min(self.parts.left_s(progress), ledger.patience_s), ledger.brief_s)
        continued = progress.turn.continued
        judged = await judge_words(self.parts, self.run, text, continued=continued, within_s=within_s)
        if not judged.false:
            await self._finish(judged.sentences, "answered")
        elif judged.current and self._may_mend():
            progress.mended = True
            progress.rounds += [assistant_message(progress.turn.text, []), mend_request(judged.false, progress.said)]
            progress.turn, progress.said_in_rounds = None, len(progress.said)
            await self._save()
        else:
            # No model can mend what only the ledger could bear out.
            words = safe_words(progress, self.memory, self.run.work.language, current=judged.current)
            await self._finish(words, "templated")

    def _may_mend(self) -> bool:
        return not self.progress.mended and self.progress.model_calls < self.parts.limits.model_calls_per_message

    async def _read_back(self, call: Run) -> None:
        now, version = self.parts.clock.now(), self.run.owner_version
        self.memory.held_call = hold_for_yes(self.run.work, self.progress, call, version, now)
        order = self.memory.orders.get(str(call.args.get("order_id")), {})
        question = read_back_question(self.run.work.language, call, str(order.get("currency") or ""))
        await self._finish([question], "read_back")

    async def _finish(self, sentences: list[str], outcome: str) -> None:
        await self.spent.book()
        if waits_for_approval(self.memory):
            # It may have been decided meanwhile, and what is saved here would say otherwise until the next message.
            await self.parts.ledger.refresh(self.run)
        progress, now = self.progress, self.parts.clock.now()
        close_turn(self.run.work, self.memory, progress, elapsed_s=self._elapsed_s(now))
        address = Address.of(self.run.work.message, self.run.owner_version)
        reply = " ".join([*progress.said, *sentences])
        cited = [c for c in progress.citations if f"[{c['article_id']}]" in reply]
        events = address.spoken(progress.next_seq, "agent", sentences, citations=cited, said=progress.said)
        ending = Ending(
            outcome,
            events,
            reply,
            prompt_version=self.bundle.version,
            waiting_approval=waits_for_approval(self.memory),
            state=self.run.state,
        )
        await self.parts.runs.finish(self.run, ending, now)
        self.ended = True

    def _mind_the_time(self, step: Step) -> None:
        # A person is on the way already: the time isn't why.
        if self.progress.hand_reason is None and self.progress.limit_hit is None:
            spent_s = self.parts.spent_s(self.progress)
            self.progress.limit_hit = out_of_time(step, self.progress, self.parts.limits, spent_s)

    async def _hand_over_if_due(self) -> None:
        """SPEC §8, before every step and so before every write; the guard's answer comes first."""
        if self.progress.guard is None:
            return
        elapsed_s = self._elapsed_s(self.parts.clock.now())
        work, progress = self.run.work, self.progress
        due = decide_handoff(situation_of(work, self.memory, progress, elapsed_s=elapsed_s, wording=self.wording))
        if due is not None:
            await self._hand_over(due)

    async def _hand_over(self, why: HandOver, notice: Phrase = "handoff") -> None:
        await self.spent.book()
        with contextlib.suppress(*TROUBLE):
            await book_unseen_rows(self.parts, self.run)
        await hand_over(
            self.parts.runs,
            self.parts.customers,
            self.parts.clock,
            self.run,
            why,
            ledger=self.parts.ledger,
            route="agent",
            notice=notice,
            prompt_version=self.bundle.version,
            staff=self.parts.staff,
        )
        self.ended = True

    async def _save(self) -> None:
        """Save the checkpoint, and with it show the customer what was moved since the last one."""
        await self.spent.book()
        progress, before = self.progress, (self.progress.next_seq, self.progress.untold)
        events = Address.of(self.run.work.message, self.run.owner_version).actions(*before)
        progress.next_seq, progress.untold = progress.next_seq + len(events), []
        try:
            await self.parts.runs.checkpoint(self.run, events, self.parts.clock.now())
        except BaseException:
            # Not shown as far as we know: whoever ends this run now still has to.
            progress.next_seq, progress.untold = before
            raise
        self.still_ours = True

    def _elapsed_s(self, now: datetime) -> float:
        return max(0.0, (now - self.run.work.message.received_at).total_seconds())


async def play_agent_run(parts: Parts, run: ClaimedRun) -> None:
    """Play a claimed run of the agent route to its end, or to the end of its time."""
    progress = run.state.run_for(run.message_id)
    progress.started_at = progress.started_at or parts.clock.now().isoformat()
    parts = replace(parts, tools=parts.tools.within(parts.left_s(progress)))
    try:
        bundle = await once_back(parts.tools, TROUBLE, lambda: parts.catalogue.bundle(parts.tools))
    except TROUBLE as error:
        why = HandOver("stuck", f"no tools: {error.reason}"[:300])
        await hand_over(
            parts.runs,
            parts.customers,
            parts.clock,
            run,
            why,
            ledger=parts.ledger,
            route="agent",
            notice="handoff_no_model",
            staff=parts.staff,
        )
        return
    async with spending(parts.tokens, run, parts.limits) as spent:
        await Play(parts, run, bundle, spent).to_the_end()

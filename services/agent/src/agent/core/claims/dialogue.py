"""What a sentence claims only beside the ones before it, or in a shape or language the rules don't read it in.

It adds claims to what one sentence by itself was found to say, and never takes one away.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from agent.core.claims.dialogue_words import TALKS, TICK, Talk
from agent.core.claims.facts import ROW_KINDS, Claim, Facts, Kind, SentenceCheck
from agent.core.claims.judging import judge
from agent.core.claims.languages import LEXICONS, read_as
from agent.core.claims.lexicon import Lexicon
from agent.core.claims.manner import Manner
from agent.core.claims.presents import presents
from agent.core.claims.reading import Reading, read_sentence
from agent.core.claims.text import Prepared, prepare
from agent.core.claims.titles import is_of, named_lines
from agent.core.claims.topics import find_topics
from agent.core.claims.values import find_values

_NOMINAL = 3  # "Your money back?": so few words ask without a verb
_SHORT = 90  # letters
_ASIDE = 4  # "Let me see." may stand between a question and its answer
_SHAPED = re.compile(r"[{}|]")
_FORMAL = re.compile(r"[{}\[\]\"`|]+")
_TOLD = ("done", "approved", "unknowable", "started", "pending", "future")
_GENERAL = ("policy", "generic", "rule", "offer", "instruction", "invitation", "cannot")


@dataclass(frozen=True)
class _Asked:
    """A question about our own deed or a row's state, as the statement that a "yes" makes of it."""

    reading: Reading
    prepared: Prepared


@dataclass(frozen=True)
class Spoken:
    """What a reply has spoken of so far: the open question, the last deed named, and the last one told as done."""

    asked: tuple[_Asked, ...] = ()
    subject: Kind | None = None
    told: Kind | None = None


@dataclass(frozen=True)
class _Part:
    """A piece of a sentence, up to a question mark or the end; `bare` is lower case without marks."""

    text: str
    bare: str
    sentence: str
    facts: Facts
    lexicon: Lexicon
    talk: Talk

    def claim(self, reading: Reading, prepared: Prepared | None = None) -> Claim:
        """The reading's claim, with the values of `prepared` or none."""
        values = prepared.values if prepared else find_values("")
        return judge(reading, values, self.facts, self.sentence, self.lexicon)

    def says(self, idea: str) -> bool:
        """Whether the part says nothing but the idea."""
        # fragments are short, and a word without end must not cost the power of its length
        short = len(self.bare) <= _SHORT or idea in ("yes", "no", "foreseen")
        return short and self.talk.whole_sentence[idea].fullmatch(self.bare) is not None


# As with `check_sentence`: a reply that grows is heard again from its start.
@lru_cache(maxsize=2_048)
def listen(checked: SentenceCheck, language: str, facts: Facts, spoken: Spoken) -> tuple[SentenceCheck, Spoken]:
    """Return the check with what the sentence claims beside what was spoken before, and what is spoken of after it."""
    sentence = checked.sentence
    tongue = read_as(sentence, language)
    if tongue is None:
        return checked, spoken
    lexicon, talk = LEXICONS[tongue], TALKS[tongue]
    added: list[Claim] = []
    for text in _parts(_shape(sentence, talk)):
        part = _Part(text, _bare(text), sentence, facts, lexicon, talk)
        if text.endswith("?"):
            spoken = replace(spoken, asked=_asked(part, spoken))
            continue
        said = _answer(part, spoken) or _beside(part, spoken, alone=not checked.claims)
        added += [*said, *presents(part.text, sentence, facts, lexicon, talk)]
        if said or len(part.bare.split()) > _ASIDE:
            spoken = replace(spoken, asked=())
    if not checked.claims and not added:
        added += _in_other_tongues(sentence, tongue, facts)
    return _with(checked, added), _after(_with(checked, added), spoken, lexicon)


def _with(checked: SentenceCheck, added: list[Claim]) -> SentenceCheck:
    false = next((c for c in added if not c.holds), None)
    claims = (*checked.claims, *added)
    if false is None or not checked.holds:
        return checked.model_copy(update={"claims": claims})
    return checked.model_copy(update={"claims": claims, "holds": False, "why": false.why})


def _after(checked: SentenceCheck, spoken: Spoken, lexicon: Lexicon) -> Spoken:
    rows = [c for c in checked.claims if c.kind in ROW_KINDS]
    if rows:
        done = rows[-1].holds and rows[-1].state == "done"
        return replace(spoken, subject=rows[-1].kind, told=rows[-1].kind if done else None)
    clauses = prepare(checked.sentence, lexicon).clauses
    named = [
        t.kinds[0]
        for clause in clauses
        if not any(lexicon.has(idea, clause) for idea in _GENERAL)
        for t in find_topics(clause, lexicon)
        if t.kinds[0] in ROW_KINDS
    ]
    return replace(spoken, subject=named[-1]) if named else spoken


def _shape(sentence: str, talk: Talk) -> str:
    """Ticks as the word they stand for, data and tables as words."""
    text = re.sub(rf"^\s*[-*•]?\s*((?:{TICK.pattern})+)\s*(\S.*)$", _tick_last, sentence)
    text = TICK.sub(f" {talk.done} ", text)
    if _SHAPED.search(sentence):
        text = _FORMAL.sub(" ", text).replace("_", " ")
    return re.sub(r"\s+", " ", text).strip()


def _tick_last(match: re.Match[str]) -> str:
    """ "✅ Refund" ticks the refund off; before a whole statement the tick is an ornament."""
    mark, rest = match.group(1), match.group(2)
    return f"{rest.rstrip(' .!')} {mark}" if len(rest.split()) < _ASIDE else rest


def _parts(text: str) -> list[str]:
    return [p.strip() for p in re.split(r"(?<=\?)", text) if re.search(r"\w", p)]


def _bare(text: str) -> str:
    plain = re.sub(r"[’‘`´ʼ](?=\w)", "'", text.lower())
    plain = re.sub(r"(?<!\w)[*_`]+|[*_`]+(?!\w)|^\s*(?:[-•*]|\d+[.)])\s+", "", plain)
    return re.sub(r"\s+", " ", plain).strip(' .!?¡¿"“”„«»:;,–—-…')


def _asked(part: _Part, spoken: Spoken) -> tuple[_Asked, ...]:
    found, words = part.talk.anywhere, part.bare
    nominal = len(words.split()) <= _NOMINAL
    if found["rule_question"].search(words) or not (nominal or found["state_question"].search(words)):
        return ()
    text = part.text
    for found_in, put in part.talk.statements:
        text = found_in.sub(put, text)
    prepared = replace(prepare(text, part.lexicon), asks=False)
    readings = read_sentence(prepared, part.lexicon, spoken.subject)
    return tuple(_Asked(replace(r, manner="done") if r.manner == "negated" else r, prepared) for r in readings)


def _answer(part: _Part, spoken: Spoken) -> list[Claim]:
    """ "It has." says what was asked, "No." denies it."""
    if part.says("no"):
        denied = [a for a in spoken.asked if a.reading.manner in ("done", "approved") and not a.reading.status]
        return [part.claim(replace(a.reading, manner="negated"), a.prepared) for a in denied]
    clauses = prepare(part.text, part.lexicon).clauses
    if part.says("yes") and not any(part.lexicon.has(idea, c) for idea in ("condition", "when") for c in clauses):
        return [part.claim(replace(a.reading, assumed=False), a.prepared) for a in spoken.asked]
    return []


def _beside(part: _Part, spoken: Spoken, *, alone: bool) -> list[Claim]:
    """What the part says of the deed spoken of before; `alone` when it was found to claim nothing by itself."""
    if part.text != part.sentence.strip() and (shaped := _shaped(part)):
        return shaped
    if part.says("added") and spoken.told and not find_topics(part.bare, part.lexicon):
        return _one_more(part, spoken.told)
    if part.says("whole"):
        return [_everything(part)]
    if carried := _carried(part, spoken.subject):
        return [part.claim(carried)]
    return _named(part, spoken.subject) if spoken.subject and alone else []


def _carried(part: _Part, subject: Kind | None) -> Reading | None:
    """Words that tell how the deed named before stands, without naming it."""
    rows = part.facts.actions
    waits = any(r.status == "awaiting_approval" for r in rows)
    ways: tuple[tuple[str, Kind | None, Manner], ...] = (
        ("carried", subject, "done"),
        ("arrived", subject if subject == "refund" else None, "unknowable"),
        ("approved", subject or ("action" if rows else None), "approved"),
        ("foreseen", (subject or "action") if waits else None, "unknowable"),
    )
    return next((Reading((kind,), manner, part.bare) for idea, kind, manner in ways if kind and part.says(idea)), None)


def _shaped(part: _Part) -> list[Claim]:
    """A tick, a table row or a piece of data, read as the words it stands for."""
    prepared = prepare(part.text, part.lexicon)
    readings = read_sentence(prepared, part.lexicon)
    told = [r for r in readings if r.manner in _TOLD and r.kinds[0] in ROW_KINDS and not _is_price(r)]
    return [part.claim(r, prepared) for r in told]


def _one_more(part: _Part, told: Kind) -> list[Claim]:
    """ "The shipping as well." tells of a second deed of the kind, so one row is not enough."""
    done = [r for r in part.facts.actions if r.kind == told and r.status == "succeeded"]
    lines = named_lines(part.bare, part.facts)
    proven = all(any(is_of(r, [line]) for r in done) for line in lines) if lines else len(done) > 1
    why = "" if proven else "one row does not prove two deeds"
    return [Claim(sentence=part.sentence, kind=told, state="done", holds=not why, why=why)]


def _everything(part: _Part) -> Claim:
    whole = any(
        r.status == "succeeded" and ((r.kind == "refund" and not r.line_id) or r.kind == "cancel")
        for r in part.facts.actions
    )
    why = "" if whole else "no row proves the whole order"
    return Claim(sentence=part.sentence, kind="refund", state="done", holds=whole, why=why)


def _named(part: _Part, subject: Kind) -> list[Claim]:
    """ "It just came through", read with the deed in the pronoun's place; only what is told as a fact counts."""
    for opening, put in part.talk.subjects:
        if opening.match(part.bare):
            text = opening.sub(put.format(part.talk.nouns[subject]), part.bare, count=1)
            prepared = prepare(text, part.lexicon)
            readings = read_sentence(prepared, part.lexicon)
            told = [r for r in readings if r.manner in ("done", "approved", "unknowable") and not r.assumed]
            return [part.claim(r, prepared) for r in told if r.kinds[0] == subject]
    return []


def _in_other_tongues(sentence: str, tongue: str, facts: Facts) -> list[Claim]:
    """A sentence without a claim in the reply's language may be one in another of the four; only false ones count."""
    here = LEXICONS[tongue]
    if any(here.has(idea, clause) for idea in _GENERAL for clause in prepare(sentence, here).clauses):
        return []
    words = re.findall(r"[^\W\d_]+", sentence.lower())
    own = sum(word in here.source.stopwords for word in words)
    for code, lexicon in LEXICONS.items():
        if code == tongue or sum(word in lexicon.source.stopwords for word in words) < own:
            continue
        prepared = prepare(sentence, lexicon)
        part = _Part(sentence, _bare(sentence), sentence, facts, lexicon, TALKS[code])
        told = [r for r in read_sentence(prepared, lexicon) if r.manner in _TOLD and not _is_price(r)]
        sure = [r for r in told if _is_plain(r, lexicon) and (not own or (r.kinds[0] in ROW_KINDS and not r.assumed))]
        false = [c for c in (part.claim(r, prepared) for r in sure) if not c.holds]
        if false:
            return false
    return []


def _is_plain(reading: Reading, lexicon: Lexicon) -> bool:
    """Words of another tongue are all strange, so a deed nobody foresaw may be no deed at all."""
    return reading.kinds[0] != "action" or lexicon.has("sorted_out", reading.clause)


def _is_price(reading: Reading) -> bool:
    """A bare amount reads as money paid back, which in another shape or tongue it rarely is."""
    return reading.assumed and "amtx" in reading.clause

"""The shape of one language's lexicon and the small notation its patterns are written in."""

import re
from dataclasses import dataclass, field
from functools import lru_cache

Words = tuple[str, ...]
_GAP = r"\W+(?:\w+\W+){0,7}?"
NEVER = re.compile(r"(?!)")


def pattern(words: Words) -> re.Pattern[str]:
    """Compile alternatives to one matcher of whole words.

    Notation: ` .. ` allows up to six words between, a blank is any run of blanks, and `amtx`, `ordx`, `refx`, `linx`
    stand for an amount, order number, reference or order line that was masked before reading.
    """
    if not words:
        return NEVER
    body = "|".join(words).replace(" .. ", _GAP).replace(" ", r"\s+")
    body = re.sub(r"(amtx|ordx|refx|linx)", r"\1\\d+", body)
    return re.compile(rf"(?<!\w)(?:{body})(?!\w)")


@dataclass(frozen=True)
class Asides:
    """What a language says without claiming anything; `presupposed` is the exception that does claim."""

    noise: Words
    offer: Words
    invitation: Words
    able: Words
    policy: Words
    generic: Words
    rule: Words
    inverted: Words
    presupposed: Words
    wish: Words
    instruction: Words
    condition: Words
    when: Words
    unseen: Words
    described: Words


@dataclass(frozen=True)
class Source:
    """A language as its module writes it: tuples of patterns, one per idea; `strong` and `weak` by kind."""

    code: str
    asides: Asides
    spellings: tuple[tuple[str, str], ...]
    breaks: Words
    stopwords: frozenset[str]
    strong: dict[str, Words]
    weak: dict[str, Words]
    statuses: dict[str, Words]
    parcel: Words
    request: Words
    carrier: Words
    firm: Words
    agreed_condition: Words
    negation: Words
    cannot: Words
    unfinished: Words
    positive: Words
    waiting: Words
    approved: Words
    not_yet: Words
    declined: Words
    failed: Words
    unknowable: Words
    pending: Words
    started: Words
    will: Words
    future: Words
    perfect: Words
    happened: Words
    at_account: Words
    uncertain: Words
    infinitive: Words
    sorted_out: Words
    other_deed: Words
    deed: Words
    benign: Words
    whole: Words
    every_order: Words
    account: Words
    fields: dict[str, Words]
    exact_time: Words


@dataclass(frozen=True, eq=False)
class Lexicon:
    """A compiled language; look-ups by name keep the reading code free of any one language."""

    source: Source
    one: dict[str, re.Pattern[str]]
    strong: dict[str, re.Pattern[str]]
    weak: dict[str, re.Pattern[str]]
    statuses: dict[str, re.Pattern[str]]
    fields: dict[str, re.Pattern[str]]
    spellings: tuple[tuple[re.Pattern[str], str], ...]
    splitter: re.Pattern[str] = field(default=NEVER)

    def has(self, idea: str, text: str) -> bool:
        """Whether `text` (normalised, masked) expresses `idea`, a field name of `Source`."""
        return _found(self.one[idea], text)


@lru_cache(maxsize=8192)
def _found(words: re.Pattern[str], text: str) -> bool:
    # one clause is asked the same idea from several rules; the answer is worth keeping for the length of a reply
    return words.search(text) is not None


def compile_source(source: Source) -> Lexicon:
    """Compile a language once, at import."""
    ideas = {**vars(source), **vars(source.asides)}
    one = {name: pattern(value) for name, value in ideas.items() if isinstance(value, tuple) and name != "spellings"}
    joined = "|".join(source.breaks).replace(" ", r"\s+")
    splitter = re.compile(rf"\s*[;:,]\s+|\s+[-–—]+\s+|\s*[–—()]\s*|\s+(?:{joined})\s+|\.{{3}}\s*|…\s*")
    return Lexicon(
        source=source,
        one=one,
        strong={k: pattern(v) for k, v in source.strong.items()},
        weak={k: pattern(v) for k, v in source.weak.items()},
        statuses={k: pattern(v) for k, v in source.statuses.items()},
        fields={k: pattern(v) for k, v in source.fields.items()},
        spellings=tuple((re.compile(a), b) for a, b in source.spellings),
        splitter=splitter,
    )

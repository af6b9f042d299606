"""May this answer leave? Only if it cites what was shown and every figure in it stands in what was shown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.links import links_said, strange_links
from agent.core.retrieval.passages import Passage
from agent.core.retrieval.quantities import Quantity, covered, quantities

_CITATION = re.compile(r"\[([a-z0-9][a-z0-9._-]{1,80})\]", re.IGNORECASE)
_LIKE_AN_ID = 100_000
_LINK = re.compile(r"https?://[^\s)\]>\"']+")


@dataclass(frozen=True, slots=True)
class Grounding:
    """`ok` when `problems` is empty; each problem is "kind: what", kinds are citation, uncited, figure and link."""

    ok: bool
    problems: tuple[str, ...]
    cited: tuple[str, ...]


def check_grounding(answer: str, passages: Sequence[Passage], question: str = "") -> Grounding:
    """Hold `answer` against the passages its writer was shown.

    Long numbers from the customer's own `question` (an order number) may be repeated; a figure the customer only
    supposed ("is it 40 days?") must stand in a passage like any other.
    """
    shown = {passage.article_id: passage for passage in passages}
    cited = tuple(dict.fromkeys(_CITATION.findall(answer)))
    problems = [f"citation: {article_id}" for article_id in cited if article_id not in shown]
    if not cited:
        problems.append("uncited: no article is named")
    shown_links = [link for p in passages for link in (p.url, *links_said(f"{p.title}\n{p.text}"))]
    prose = _CITATION.sub(" ", answer)
    problems += [f"link: {link}" for link in strange_links(prose, shown_links)]
    known: set[Quantity] = {q for q in quantities(question) if not q[0] and q[1] >= _LIKE_AN_ID}
    for passage in passages:
        known |= set(quantities(f"{passage.title}\n{passage.text}"))
    figures = quantities(_without_list_numbers(_LINK.sub(" ", prose)))
    problems += [f"figure: {written}" for quantity, written in figures.items() if not covered(quantity, known)]
    return Grounding(not problems, tuple(problems), tuple(c for c in cited if c in shown))


def _without_list_numbers(text: str) -> str:
    return re.sub(r"^\s*\d{1,2}[.)]\s+", "", text, flags=re.MULTILINE)

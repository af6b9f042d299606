"""Cut replies into sentences, whole or as they stream in, without tripping over amounts, abbreviations or ordinals."""

import re

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st nos nr vs etc approx e.g i.e eg ie inc ltd dept tel ext ref sr sra srta núm num nº pág art "
    "ud uds av avda p.ej ej aprox mme mlle m réf env ex p.ex bd z.b d.h u.a bzw ggf usw evtl ca str tel inkl zzgl "
    "abs hr fr frl s.o u.u i.d.r o.ä max min mind std zzt "
    "jan feb mär apr jun jul aug sep sept okt oct nov dez dec".split()
)
_MONTHS = (
    "januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|"
    "klasse|etage|stock|tag|woche|werktag|jahr|stufe"
)
_END = re.compile(r"[.!?…]+[\"'”“»’)\]]*|\n+")
_ORDINAL = re.compile(rf"\d\.\s+(?:{_MONTHS})\b", re.IGNORECASE)
# "3. Ma" may still become "3. Mai": the next word decides, so it has to be whole
_ORDINAL_OPEN = re.compile(r"\d\.\s+[^\W\d]+\Z")
# "https://shop.example/track?Q=7": the mark belongs to the address
_ADDRESS_OPEN = re.compile(r"(?:://|\bwww\.)\S*\Z")
_OPENERS = "\"'“„«‚‘([¿¡-–—•*#"


def split_ready(buffer: str) -> tuple[list[str], str]:
    """Return the finished sentences of a growing text and the unfinished rest.

    A full stop only ends a sentence once the next visible character is known, so a stream that pauses inside
    "1.200,50" or after "Nr." never lets half a sentence out.
    """
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(buffer):
        if match.start() < start:
            continue
        following = _next_visible(buffer, match.end())
        if following is None or _ORDINAL_OPEN.match(buffer, max(match.start() - 1, 0)):
            break
        if _ends_sentence(buffer, start, match, following):
            sentences.append(buffer[start : match.end()].strip())
            start = match.end()
    return [s for s in sentences if s], buffer[start:]


def split_sentences(text: str) -> list[str]:
    """Split a whole reply; whatever follows the last full stop is a sentence too."""
    sentences, rest = split_ready(text)
    return [*sentences, rest.strip()] if rest.strip() else sentences


class SentenceStream:
    """Takes text in pieces and yields sentences as soon as each is certainly finished."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, piece: str) -> list[str]:
        """Add a piece; return the sentences it finished."""
        sentences, self._rest = split_ready(self._rest + piece)
        return sentences

    def finish(self) -> list[str]:
        """End of text: return what was still open."""
        rest, self._rest = self._rest, ""
        return split_sentences(rest)


def _next_visible(buffer: str, position: int) -> str | None:
    rest = buffer[position:]
    stripped = rest.lstrip()
    if not stripped:
        return None
    return rest[0] if rest[0] == stripped[0] else " " + stripped[0]


def _ends_sentence(buffer: str, start: int, match: re.Match[str], following: str) -> bool:
    mark = match.group()
    if mark[0] == "\n":
        return True
    if following[0] != " ":
        # "1.200", "z.B.", "shop.com": a stop glued to the next letter ends nothing
        return following[0] in "¿¡" or (
            mark[0] in "!?" and following[0].isupper() and not _ADDRESS_OPEN.search(buffer, start, match.start())
        )
    visible = following[1]
    if mark[0] in "!?":
        return not visible.islower()
    if mark.startswith(("..", "…")):
        return not visible.islower()
    return not _is_abbreviation(buffer, start, match.start(), visible)


def _is_abbreviation(buffer: str, start: int, dot: int, visible: str) -> bool:
    word = re.search(r"[\w.º°]*$", buffer[start:dot])
    last = word.group().lower() if word else ""
    if _ORDINAL.match(buffer, max(dot - 1, 0)):
        return True
    if len(last) == 1 and last.isalpha():
        return True
    if last == "no":
        # "No. 4417028" names an order, "No. Nothing was paid." denies one
        return visible.isdigit() or visible == "#"
    if last in _ABBREVIATIONS:
        return not (visible.isupper() and last in {"etc", "usw"})
    return visible.islower() and visible not in _OPENERS

"""Bring a sentence into the one form the lexicons are written for, and cut it into clauses."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from agent.core.claims.lexicon import Lexicon
from agent.core.claims.values import Values, find_values

_QUOTED = re.compile(
    r"\"([^\"]*)\"|“([^”“]*)[”“]|«([^»]*)»|„([^“”\"]*)[“”\"]|»([^«]*)«|(?<!\w)‘([^’]*)’(?!\w)|(?<!\w)'([^']{8,})'(?!\w)"
)
_CUSTOMER_SAID = re.compile(
    r"\b(?:wrote|reads|laut ihnen|hieß|gelesen|j'ai lu|lisez|leí|leemos|"
    r"writ\w*|said|say|saying|asked|asking|message|words|mention\w*|question|quote\w*|schreib\w*|schrieb\w*|geschrieben|"
    r"sag\w*|gesagt|nachricht|frag\w*|worte?n?|meinten|mail|email|escrib\w*|dijist\w*|dijo|dice\w*|mensaje|pregunt\w*|palabras|"
    r"écri\w*|dis\w+|dit\w*|dites|message|demand\w*|mots|question|correo|courriel|title|titled|called|article|artikel|artículo|named|note|notiz|nota)\b",
    re.IGNORECASE,
)
_INVISIBLE = re.compile(r"[\u200b-\u200f\u2060-\u2064\ufeff\u00ad\u202a-\u202e]")
_NAMED_ONLY = re.compile(r"(?:[^\W\d]+ ){0,2}(?:amtx|ordx|refx|linx)\d+(?: [^\W\d]+)?")
_ASIDE = re.compile(r"(?:\(\s*|, )((?:[^\W\d]+ ){0,2}(?:amtx|ordx|refx|linx)\d+)(?:\s*\)|\s*,(?=\s))")
_PARTICIPLE = re.compile(r"(?:(?:or|ni|ou|oder|o|nor|noch|et) )?\w+(?:ed|ad[oa]s?|id[oa]s?|ée?s?|iert|tet|dert)\b")
# "4417028 was cancelled, not 4417029": the second order is only set against the first
_CONTRASTED = re.compile(
    r"(?P<said>\bordx\d+\b.*?),? (?:(?:and|y|et|und) )?(?:not|no|non|pas|nicht)"
    r"(?: (?:el|la|le|les|the|die|der|das|den|order|pedido|commande|bestellung|number))* ordx\d+$"
)
_MARKUP = re.compile(r"(?<!\w)[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}(?!\w)|^\s*(?:[-•*]|\d+[.)])\s+")


@dataclass(frozen=True)
class Prepared:
    """A sentence ready to read: its values, its clauses (masked, lower case, no noise) and whether it asks."""

    values: Values
    clauses: tuple[str, ...]
    asks: bool


# One sentence is prepared for every reading, tongue and neighbour that asks about it.
@lru_cache(maxsize=4_096)
def prepare(sentence: str, lexicon: Lexicon) -> Prepared:
    """Normalise, drop what the customer is quoted with, mask values, spell contractions out, split into clauses."""
    values = values_of(sentence)
    text = values.masked.lower()
    for short, long in lexicon.spellings:
        text = short.sub(long, text)
    text = lexicon.one["noise"].sub(" ", re.sub(r"\s+", " ", text))
    text = _ASIDE.sub(r" \1 ", text)
    clauses = [c.strip(" .!?¡¿\"'“”„«»") for c in lexicon.splitter.split(text)]
    return Prepared(values, _rejoin([c for c in clauses if c], lexicon), "?" in sentence)


def values_of(sentence: str) -> Values:
    """What a sentence names, and its text with that masked and the customer's quoted words taken out."""
    plain = _plain(sentence)
    if _CUSTOMER_SAID.search(plain):
        plain = _QUOTED.sub(" quotx ", plain)
    return find_values(plain)


def _rejoin(clauses: list[str], lexicon: Lexicon) -> tuple[str, ...]:
    """Undo cuts inside one statement, as in "your refund: RF-1" or "nothing was paid, cancelled or changed"."""
    joined: list[str] = []
    carries = False
    for clause in clauses:
        bare = _NAMED_ONLY.fullmatch(clause) and not any(p.search(clause) for p in lexicon.strong.values())
        listed = _PARTICIPLE.match(clause) and joined and lexicon.has("negation", joined[-1])
        reached = lexicon.one["infinitive"].match(clause)
        if joined and (bare or listed or carries or reached):
            joined[-1] = f"{joined[-1]} {clause}"
            carries = bool(bare) and not carries and not any(p.search(joined[-1]) for p in lexicon.strong.values())
        else:
            joined.append(clause)
    return tuple(_CONTRASTED.sub(r"\g<said>", clause) for clause in joined)


def _plain(sentence: str) -> str:
    text = unicodedata.normalize("NFC", sentence)
    text = _INVISIBLE.sub("", text).replace("\u00a0", " ").replace("\u202f", " ")
    text = _MARKUP.sub("", text)
    return re.sub(r"[’‘`´ʼ](?=\w)", "'", text)

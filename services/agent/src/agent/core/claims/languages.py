"""The four lexicons, and in which language a sentence is to be read."""

import re

from agent.core.claims.english import ENGLISH
from agent.core.claims.french import FRENCH
from agent.core.claims.german import GERMAN
from agent.core.claims.lexicon import Lexicon, compile_source
from agent.core.claims.spanish import SPANISH

LEXICONS: dict[str, Lexicon] = {s.code: compile_source(s) for s in (ENGLISH, SPANISH, FRENCH, GERMAN)}
_FOREIGN = frozenset(
    "è stato stata della che sono gli questo abbiamo alla nel "  # Italian
    "não você foi seu sua uma foram está-se já com para-o nós "  # Portuguese
    "het een wij uw zijn hebben deze niet werd terugbetaald "  # Dutch
    "jest zwrot został twoje pieniądze się "  # Polish
    "är och inte har din pengar vi återbetalning det "  # Swedish
    "iade edildi siparişiniz için bir".split()  # Turkish
)
_MONEY_ABROAD = re.compile(
    r"\b(?:rimbors\w+|annullat[oaie]|terugbetal\w*|terugbetaald|geannuleerd|återbetal\w*|cancelad[oa] o seu|zwrot\w*)\b"
)
_LATIN = re.compile(r"[a-zà-ɏ]+", re.IGNORECASE)


def read_as(sentence: str, language: str) -> str | None:
    """The language to judge a sentence in: the declared one unless it visibly is another; None when not of the four."""
    if language not in LEXICONS:
        return None
    words = [w.lower() for w in re.findall(r"[^\W\d_]+", sentence)]
    if not words:
        return language
    if sum(not _LATIN.fullmatch(w) for w in words) * 2 > len(words):
        return None
    scores = {code: sum(w in lex.source.stopwords for w in words) for code, lex in LEXICONS.items()}
    foreign = sum(w in _FOREIGN for w in words)
    if _MONEY_ABROAD.search(sentence.lower()) or foreign > max(scores.values()):
        return None
    best = max(scores, key=lambda code: scores[code])
    return best if scores[language] == 0 and scores[best] >= 2 else language

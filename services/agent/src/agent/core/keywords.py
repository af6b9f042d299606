"""Words that ask for a person whatever the classifier made of the message, in four languages."""

# ruff: noqa: E501 - a pattern is read as one line

import re
import unicodedata

# Accents are folded before matching; each pattern is matched at word starts.
_ASKED = (
    (
        r"(speak|talk|chat|connect me|get me|put me through|transfer me)( directly| now)? (to|with|through to)? ?"
        r"(a |an |the |your |some)?(real |live |actual )?(human|person|people|agent|representative|manager|supervisor|someone real)"
    ),
    r"(real|live|actual) (human|person)",
    r"(hablar|comunicar(me)?|pasar(me)?|ponga(me)?|paseme)( ya)? con (una? |el |la )?(persona|humano|agente|operador|supervisor|responsable)",
    r"parler (a|avec) (une? |le |la |votre )?(vraie? )?(personne|humain|conseiller|conseillere|agent|responsable|superviseur)",
    (
        r"mit (einem|einer|dem|der|ihrem)? ?(echten |richtigen )?(menschen|person|mitarbeiter(in)?|berater(in)?|vorgesetzten) "
        r"(sprechen|reden|verbunden|verbinden)"
    ),
)
_ASKED_RE = re.compile("|".join(rf"\b(?:{p})\b" for p in _ASKED))


def folded(text: str) -> str:
    """Lower case without accents, whitespace evened out."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(plain.split())


def asks_for_person(text: str) -> bool:
    """Say whether the text plainly asks for a human."""
    return _ASKED_RE.search(folded(text)) is not None

"""What happens to a conversation that has gone quiet: asked once whether it was solved, then closed (SPEC §15)."""

from common.events.model import Language

_SOLVED: dict[Language, str] = {
    "en": "Is everything settled? If not, just write again; otherwise I'll close this conversation later.",
    "es": "¿Quedó todo resuelto? Si no, escríbanos de nuevo; si no, cerraré esta conversación más tarde.",
    "fr": "Tout est-il réglé ? Sinon, écrivez-nous simplement ; autrement je clos cette conversation plus tard.",
    "de": "Ist alles geklärt? Wenn nicht, schreiben Sie einfach wieder; sonst schließe ich dieses Gespräch später.",
}


def ask_if_solved(language: Language) -> str:
    """Return the one question."""
    return _SOLVED[language]

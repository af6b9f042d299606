"""How the simulated model understands a customer: language, wish, order numbers, reason and things, by plain rules."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from sandbox.core.turn import Conversation

Language = Literal["en", "es", "fr", "de"]
Wish = Literal["person", "cancel", "address", "account", "label", "refund", "tracking", "thanks", "question"]
Reason = Literal["damaged", "not_received", "late", "wrong_item"]

_NAMES: dict[str, Language] = {"english": "en", "spanish": "es", "french": "fr", "german": "de"}
_COMMON: dict[Language, frozenset[str]] = {
    "en": frozenset(
        "the my is and i it a to please you order was has have where what how not arrived refund for of".split()
    ),
    "es": frozenset(
        "el la mi es y de que por favor un una pedido ha no lo quiero donde como esta llego con mis cuanto".split()
    ),
    "fr": frozenset(
        "le la mon ma est et de je vous un une commande pas les dans svp bonjour ou ai mes pour en combien".split()
    ),
    "de": frozenset(
        "der die das mein meine ist und ich nicht bitte ein eine bestellung wo wie hat kam zu den habe von".split()
    ),
}
# Patterns run over folded text: lower case, no accents.
_PERSON = re.compile(
    r"\b(speak|talk|chat|connect|transfer|pass|get|want|need|give|put)\b.{0,30}\b(human|person|agent|representative|someone|"
    r"somebody|supervisor|colleague)\b|\breal (person|human)\b|^\W*(human|agent|person)\W*$|"
    r"\b(hablar|pasar?me|comunicar?me|quiero|necesito)\b.{0,30}\b(persona|humano|agente|alguien|companero)\b|"
    r"\b(parler|passer|joindre|veux|voudrais)\b.{0,30}\b(personne|humain|conseiller|quelqu'?un|agent)\b|"
    r"\b(sprechen|mochte|will|brauche|verbinden)\b.{0,30}\b(mensch(en)?|person|mitarbeiter(in)?|jemand(em|en)?|berater)\b|"
    r"\b(mit einem|an einen) (menschen|mitarbeiter)\b"
)
_CANCEL = re.compile(r"\bcancel|\bcall off\b|\banul|\bannul|\bstorn|\babbestell")
_ADDRESS = re.compile(r"\b(address|direccion|domicilio|adresse|anschrift|lieferadresse)\b")
_CHANGE = re.compile(
    r"\b(change|update|correct|instead|new|send|ship|deliver|cambi\w*|actuali\w*|nuev\w*|enviar|chang\w*|modifi\w*|nouvel\w*|"
    r"envoy\w*|livr\w*|ander\w*|neue?\w*|aktualisier\w*|liefer\w*)\b"
)
_ACCOUNT = re.compile(
    r"\b(e-?mail|phone|telephone|account|name|correo|telefono|cuenta|nombre|courriel|compte|nom|telefon\w*|handynummer|konto|"
    r"namen?)\b"
)
_LABEL = re.compile(
    r"\b(return|send (it|them|this) back|return label|devol(ver|ucion)|etiqueta|retour\w*|renvoyer|etiquette|zuruck(schicken|"
    r"senden)|rucksende\w*|retoure|etikett)\b"
)
_REFUND = re.compile(
    r"\b(refund\w*|money back|reimburs\w*|reembols\w*|devuelv\w*|dinero|rembours\w*|erstatt\w*|ruckerstatt\w*|geld zuruck)\b"
)
_REASONS: tuple[tuple[Reason, re.Pattern[str]], ...] = (
    (
        "wrong_item",
        re.compile(
            r"\bwrong (item|one|product|colou?r|size|thing|\w+)|not what i ordered|\b(equivocad|incorrect)|otro producto|"
            r"mauvais(e)? (article|produit|taille|couleur)|pas (le bon|ce que j'ai)|\bfalsch"
        ),
    ),
    (
        "not_received",
        re.compile(
            r"never (arrived|came|got|received|showed)|(not|n't|hasn't|hasnt|didn't|did not) (\w+ )?(arrive|receive|come|turn up)|"
            r"never (been )?deliver|missing|\blost\b|no (me )?(ha |han )?(llegad|llego|recibi)|nunca (llego|recibi)|perdid|"
            r"(pas|jamais) (encore )?(recu|arrive|livre)|perdu|(nicht|nie) (an)?(gekommen|erhalten|geliefert)|(nie|nicht) an\b|verloren"
        ),
    ),
    (
        "damaged",
        re.compile(
            r"\b(damag|broke|crack|shatter|smash|defect|faulty|dented|torn|doesn't work|not working|scratch|leak)|\b(rot[oa]s?\b|"
            r"danad|defectuos|agrietad|averiad|no funciona)|\b(casse|abime|endommage|defectueu|fissure|fele|ne (fonctionne|marche))|"
            r"\b(kaputt|beschadigt|zerbrochen|defekt|gesprungen|riss|funktioniert nicht|zerkratzt)"
        ),
    ),
    (
        "late",
        re.compile(
            r"\b(late|delay|too long|tarde|retras|en retard|retard|verspat|zu spat|spat)\b|\bretras|\bverspat|\bdelay"
        ),
    ),
)
_TRACKING = re.compile(
    r"\bwhere('s| is| are)|\btrack|status|when (will|does|is)|\bdonde esta|seguimiento|cuando (llega|llegara)|\bou (est|en est)|"
    r"\bsuivi|quand (arrive|vais)|\bwo (ist|bleibt|sind)|sendungs|wann kommt|\blieferstatus"
)
_THANKS = re.compile(
    r"^\W*(thanks?|thank you|great|ok(ay)?|gracias|merci|danke|perfekt|perfecto|parfait|super|hi|hello|hola|bonjour|hallo)\b"
)
_WHOLE = re.compile(
    r"\b(whole|entire|complete) order|\beverything\b|\ball (of it|items|the items|lines)|full order|todo el pedido|pedido (entero|"
    r"completo)|\btodo\b|toute la commande|commande entiere|\btout\b|ganze bestellung|gesamte bestellung|\balles\b"
)
_GENERAL = re.compile(
    r"^\W*(how|what|which|can i|could i|do you|does|is it|are there|who|why|may i|como|que|cual|cuanto|puedo|se puede|cuando puedo|"
    r"comment|quel|quelle|combien|puis-?je|peut-?on|est-ce|avez|wie|was|welche|kann (ich|man)|gibt es|darf ich|wann kann)\b"
)
_ORDER_ID = re.compile(r"(?<![\w+@./-])(#?[0-9]{6,12}|#[A-Z]?[0-9]{3,12}|[A-Z][0-9]{6,12})(?![\w@])")


@dataclass(frozen=True)
class Reading:
    """What the customer wants; ``text`` is folded, ``raw`` as written."""

    language: Language
    wish: Wish
    order_ids: tuple[str, ...]
    reason: Reason | None
    whole: bool
    text: str
    raw: str


def fold(text: str) -> str:
    """Return lower-case text without accents, so that ``roto``/``Rotó`` and ``für``/``fur`` read alike."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("’", "'"))
    return "".join(char for char in decomposed if not unicodedata.combining(char)).casefold()


def read(conversation: Conversation) -> Reading:
    """Read the newest message; when it answers our question, the messages before it belong to it."""
    raw = _with_context(conversation)
    text = fold(raw)
    order_ids = tuple(dict.fromkeys(_ORDER_ID.findall(raw)))
    reason = next((name for name, pattern in _REASONS if pattern.search(text)), None)
    wish = _wish(text, order_ids, reason)
    return Reading(language(conversation), wish, order_ids, reason, bool(_WHOLE.search(text)), text, raw)


def language(conversation: Conversation) -> Language:
    """Return the language the instructions name, else the one the customer writes."""
    told = re.search(
        r"(?:answer|reply|respond|write)\s+in\s+(english|spanish|french|german)", conversation.system.casefold()
    )
    if told:
        return _NAMES[told.group(1)]
    coded = re.search(r"language[\"':= ]+(en|es|fr|de)\b", conversation.system.casefold())
    if coded:
        return next(name for name in _COMMON if name == coded.group(1))
    return language_of(" ".join(conversation.customer[-3:]))


def language_of(text: str) -> Language:
    """Return the language with the most common words in the text; English when there are none."""
    words = re.findall(r"[a-z']+", fold(text))
    scores: dict[Language, int] = {name: sum(word in common for word in words) for name, common in _COMMON.items()}
    return max(scores, key=lambda name: scores[name]) if any(scores.values()) else "en"


def _with_context(conversation: Conversation) -> str:
    said = conversation.said
    last = conversation.last
    before = [text.text for text in said[:-1]] if said and said[-1].who == "customer" else []
    asked = len(said) > 1 and said[-2].who == "assistant" and "?" in said[-2].text if said else False
    if asked and before and len(last) < 160:
        earlier = [text.text for text in said[:-1] if text.who == "customer"][-2:]
        return "\n".join([*earlier, last])
    return last


def _wish(text: str, order_ids: tuple[str, ...], reason: Reason | None) -> Wish:
    if _PERSON.search(text):
        return "person"
    general = bool(_GENERAL.search(text)) and not order_ids and not re.search(r"\b(my|mi|mon|ma|meine?n?)\b", text)
    if general:
        return "question"
    if _CANCEL.search(text):
        return "cancel"
    refund = bool(_REFUND.search(text))
    if not refund and _CHANGE.search(text):
        if _ADDRESS.search(text) and (order_ids or not _ACCOUNT.search(text)):
            return "address"
        if _ACCOUNT.search(text) or _ADDRESS.search(text):
            return "account"
    if not refund and _LABEL.search(text):
        return "label"
    if _TRACKING.search(text) and not refund and reason in (None, "late"):
        return "tracking"
    if refund or reason:
        return "refund"
    if _THANKS.search(text):
        return "thanks"
    return "tracking" if order_ids and len(text) < 60 else "question"

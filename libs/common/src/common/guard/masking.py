"""Takes out of a text what nobody but the customer should hold: card numbers, IBANs, passwords, one-time codes.

Called before a message is stored, shown to a model or logged. Order numbers (6 to 12 digits) stay readable.
"""

# ruff: noqa: E501 - a pattern is read as one line

import re

from common.guard.payment_numbers import Found, find_cards, find_ibans

DOTS = "••••••"
# More characters of a masked text than any secret and its label take up before they are masked, twice over: masking at
# most doubles what it touches.
_MARGIN = 800
_LABELS = {"card": "[card ••••{}]", "iban": "[IBAN ••••{}]"}

_SECURITY_CODE = re.compile(
    r"(\b(?:cv[vc]2?|cvn|cid|csc|card (?:security|verification) (?:code|value|number)|security (?:code|number)|c[oó]digo de seguridad|code de s[eé]curit[eé]"
    r"|cryptogramme(?: visuel)?|(?:karten)?pr[uü]f(?:nummer|ziffer|code)|sicherheits(?:code|nummer))\b[^\w\n]{0,4}"
    r"(?:is|es|est|ist|lautet|number|code|:|=|#)?[^\w\n]{0,4})\d{3,4}\b",
    re.IGNORECASE,
)
# After a card people type "12/27 123": expiry and code, bare.
_AFTER_CARD = re.compile(
    r"(\[card ••••\d{4}\][\s,;|/-]{1,4}(?:(?:exp\w*\.?:?\s*)?(?:0?[1-9]|1[0-2])\s?[/.-]\s?(?:20)?\d{2}[\s,;|/-]{1,4})?)\d{3,4}(?![\d/.-]|\s*(?:[€$£%]|eur|usd))",
    re.IGNORECASE,
)

_ONE_TIME_CODE = re.compile(
    r"(\b(?:otp|tan|mtan|pin(?:[ -]?code)?|one[- ]time (?:pass)?(?:code|word|pin)|(?:verification|confirmation|security|login|sms|2fa|auth(?:entication)?|access) code"
    r"|c[oó]digo (?:de (?:verificaci[oó]n|confirmaci[oó]n|un solo uso|acceso|seguridad)|sms)|code (?:de (?:v[eé]rification|confirmation|s[eé]curit[eé]|connexion)|[aà] usage unique|sms)"
    r"|(?:best[aä]tigungs|einmal|verifizierungs|sicherheits|anmelde|zugangs|sms-?)code|einmalpasswort|geheimzahl|(?:my|the|mein|der|mi|el|mon|le) (?:code|c[oó]digo))\b"
    r"[^\w\n]{0,4}(?:(?:i got|i received|you sent|me)\s+)?(?:is|was|es|est|ist|lautet|war|era)?[^\w\n]{0,4})\d(?:[ -]?\d){3,7}\b",
    re.IGNORECASE,
)

_LABEL = r"(?:pass(?:word|code|phrase|wd)?|pwd|pw|contrase[nñ]a|clave(?: de acceso)?|mot de passe|mdp|passwort|kennwort|passphrase)"
_PASSWORD = re.compile(
    rf"(\b{_LABEL}\b(?:\s*\([^)\n]{{0,20}}\))?(?:[^\n.:=,;!?]{{0,40}}?)(?:\s*(?:[:=]|->|=>)\s*|\s+(?:is|was|es|era|est|était|ist|lautet|war)\s*:?\s+)[\"'“„«‘`]?)"
    r"([^\s\"'”“»’`]{3,64})",
    re.IGNORECASE,
)

# "My password is wrong" tells no password. Words that go on with a sentence, in four languages.
_NO_SECRET = frozenset(
    """
    too not wrong incorrect invalid expired short long weak strong being no still always correct rejected reset the same a an in on at gone lost ok okay
    very saved stored required needed never now just only that what my your our his her their for from with without also already case asking asked
    working broken locked blocked changed different unknown accepted hacked compromised stolen leaked exposed missing empty secure safe good fine
    somehow apparently maybe probably unsafe supposedly declined denied refused displayed shown sent
    demasiado muy no incorrecta incorrecto corta corto larga débil la el mi una un errónea inválida válida segura caducada siempre correcta que lo
    para necesaria obligatoria distinta otra nueva rechazada robada bloqueada
    trop pas incorrect incorrecte faux fausse court courte long faible le la mon ma un une invalide expiré toujours correct refusé rejeté bon perdu
    oublié bloqué volé différent nécessaire obligatoire encore plus bien
    zu nicht falsch ungültig abgelaufen kurz lang schwach das der die mein dein ein eine immer noch richtig korrekt gesperrt weg verloren vergessen
    sicher unsicher geändert anders bekannt nötig erforderlich gehackt gestohlen gut schon jetzt nur sehr wohl auch leider kein keine
    """.split()
)


def mask(text: str) -> str:
    """`text` with secrets replaced by dots or a label such as "[card ••••4242]". Idempotent; leaves other text byte-equal."""
    if not any(c.isdigit() for c in text):
        return _mask_passwords(text)
    text = _replace(text, find_ibans(text))
    text = _replace(text, find_cards(text))
    text = _AFTER_CARD.sub(rf"\1{DOTS[:3]}", text)
    text = _SECURITY_CODE.sub(rf"\1{DOTS[:3]}", text)
    text = _ONE_TIME_CODE.sub(rf"\1{DOTS}", text)
    return _mask_passwords(text)


def mask_beginning(text: str, limit: int) -> str:
    """The first `limit` characters of `text` masked. A secret that lies across the end is masked or left out, never halved.

    However long `text` is, no more than `limit` and a margin is read; a text full of secrets may so come out shorter.
    """
    taken = text[: limit + 2 * _MARGIN]
    masked = mask(taken)
    if len(taken) < len(text):
        # What stood at the end may be the first half of a number that no pattern knows.
        masked = masked[:-_MARGIN]
    return masked[:limit]


def _replace(text: str, found: list[Found]) -> str:
    for hit in sorted(found, key=lambda f: f.start, reverse=True):
        text = text[: hit.start] + _LABELS[hit.kind].format(hit.last4) + text[hit.end :]
    return text


def _mask_passwords(text: str) -> str:
    return _PASSWORD.sub(_masked_password, text)


def _masked_password(match: re.Match[str]) -> str:
    lead, token = match.groups()
    secret = token.rstrip(".,;!?)")
    if not secret or secret.casefold() in _NO_SECRET or secret.startswith(("[card", "[IBAN", "http")):
        return match.group()
    return lead + DOTS + token[len(secret) :]

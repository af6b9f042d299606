"""Other spellings of the same words: encodings a model reads as easily as plain text and a rule does not."""

import base64
import binascii
import codecs
import re
from itertools import islice
from urllib.parse import unquote

from common.guard.confusables import unleet

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{16,}={0,2}")
_BASE64_WRAPPED = re.compile(r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{20,}\s+){1,40}[A-Za-z0-9+/]{4,}={0,2}")
_BASE32 = re.compile(r"\b[A-Z2-7]{24,}={0,6}")
_HEX = re.compile(r"(?<![0-9a-zA-Z])(?:(?:0x|\\x)?[0-9a-fA-F]{2}[\s,:]?){10,}")
_BINARY = re.compile(r"(?:[01]{8}\s*){6,}")
_DECIMAL_CODES = re.compile(
    r"(?:\b(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])\b[\s,;]{1,2}){9,}(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])"
)
_ESCAPES = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){2,}|%20")
_SPACED = re.compile(r"(?<!\w)(?:[^\W\d][ .\-_*|/\\,]{1,3}){4,}[^\W\d](?!\w)")
_JOINED = re.compile(r"(?<!\w)(?:[^\W\d_]+[_+*~.-]){4,60}[^\W\d_]+(?!\w)")
_UNDERSCORE = re.compile(r"(?<=[^\s_])_(?=[^\s_])")
_TAG = re.compile(r"<[/!a-zA-Z][^<>]{0,300}>")
_TAG_IN_WORDS = re.compile(r"\w<[/!a-zA-Z][^<>]{0,300}>(?:<[^<>]{0,300}>)?\w")
_MORSE = re.compile(r"(?:[.-]{1,6}(?: +| ?[/|] ?)){8,}[.-]{1,6}")
_ASCII85 = re.compile(r"<~([!-uz\s]{10,4000})~>")
_MORSE_LETTERS = dict(
    pair.split("=")
    for pair in (
        ".-=a -...=b -.-.=c -..=d .=e ..-.=f --.=g ....=h ..=i .---=j -.-=k .-..=l --=m -.=n ---=o .--.=p --.-=q .-.=r "
        "...=s -=t ..-=u ...-=v .--=w -..-=x -.--=y --..=z -----=0 .----=1 ..---=2 ...--=3 ....-=4 .....=5 -....=6 "
        "--...=7 ---..=8 ----.=9"
    ).split()
)
_WORDS = re.compile(r"[a-z]{3,}")
_JOINTS_THAT_HIDE = 4
_TELLING = (
    "ignore instructions previous system prompt refund reveal password ignora instrucciones reembolso ignorez "
    "consignes rembourse ignoriere anweisungen erstattung"
).split()
# Words that most sentences have, and those among them that are words when turned around, too ("los", "was").
_COMMON = (
    "the you your with this that from what have all not for are was show give tell must now can into every "
    "order customer que para todo esta por una con los del las tus muestra dime sin eres ahora pedidos les des "
    "une pour dans vous tout avec mes tes est sans toutes montre maintenant commandes und ist nicht mir das "
    "die alle ohne den dem deine zeig gib jetzt bist kunden"
).split()
_TURNED_WORDS = frozenset("all por les des das mir not are was now los del las tes gib est".split())
_TELLING_ROT13 = frozenset(codecs.encode(w, "rot13") for w in [*_TELLING, *_COMMON])
_TELLING_REVERSED = frozenset(w[::-1] for w in _TELLING)
_COMMON_REVERSED = frozenset(w[::-1] for w in _COMMON if w not in _TURNED_WORDS)


def decodings(text: str, folded: str) -> list[tuple[str, str]]:
    """(name, decoded text) for every encoding found in `text`; `folded` is its lower-case skeleton."""
    found = [("base64", d) for d in _base64_texts(text)]
    found += [("hex", d) for d in _hex_texts(text)]
    if "\\" in text and _ESCAPES.search(text):
        found.append(("escapes", _ESCAPES.sub(lambda m: chr(int(m.group(1) or m.group(2), 16)), text)))
    if "%" in text and _PERCENT.search(text):
        found.append(("url", unquote(text, errors="ignore")))
    found += _ciphers(folded)
    for name, decoded in (
        ("spaced_letters", _spaced_out(text.casefold())),
        ("joined_words", _unjoined(text)),
        ("tags_in_words", _untagged(text) if "<" in text else None),
        ("morse", _morse_text(text)),
        ("ascii85", _ascii85_text(text)),
    ):
        if decoded:
            found.append((name, decoded))
    leet = unleet(folded)
    if leet != folded:
        found.append(("leet", leet))
    return found


def _readable(raw: bytes) -> str | None:
    """The bytes as text when they are text; random bytes decoded by chance must not become findings."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    printable = sum(c.isprintable() or c in "\n\t\r" for c in text)
    letters = sum(c.isalpha() or c == " " for c in text)
    return text if len(text) >= 6 and printable == len(text) and letters >= 0.7 * len(text) else None


def _base64_texts(text: str) -> list[str]:
    bodies = [m.group().replace("-", "+").replace("_", "/") for m in islice(_BASE64.finditer(text), 40)]
    bodies += [re.sub(r"\s", "", m.group()) for m in islice(_BASE64_WRAPPED.finditer(text), 5)]
    found = [_try_base64(body.rstrip("=")) for body in bodies]
    found += [_try_base32(m.group().rstrip("=")) for m in islice(_BASE32.finditer(text), 10)]
    return [decoded for decoded in found if decoded]


def _try_base32(body: str) -> str | None:
    try:
        return _readable(base64.b32decode(body + "=" * (-len(body) % 8)))
    except (binascii.Error, ValueError):
        return None


def _try_base64(body: str) -> str | None:
    try:
        return _readable(base64.b64decode(body + "=" * (-len(body) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None


def _hex_texts(text: str) -> list[str]:
    raws = [
        bytes.fromhex(_even(re.sub(r"0x|\\x|[^0-9a-fA-F]", "", m.group()))) for m in islice(_HEX.finditer(text), 20)
    ]
    for match in islice(_BINARY.finditer(text), 5):
        bits = re.sub(r"\s", "", match.group())
        raws.append(bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8)))
    raws += [bytes(map(int, re.findall(r"\d+", m.group()))) for m in islice(_DECIMAL_CODES.finditer(text), 5)]
    found = [_readable(raw) for raw in raws]
    return [decoded for decoded in found if decoded]


def _even(digits: str) -> str:
    return digits[: len(digits) // 2 * 2]


def _ciphers(folded: str) -> list[tuple[str, str]]:
    words = set(_WORDS.findall(folded))
    found = []
    if len(words & _TELLING_ROT13) >= 2:
        found.append(("rot13", codecs.encode(folded, "rot13")))
    if words & _TELLING_REVERSED or len(words & _COMMON_REVERSED) >= 2:
        found.append(("reversed", folded[::-1]))
    return found


def _spaced_out(text: str) -> str | None:
    """ "i g n o r e  a l l rules" → "ignore all rules"; where word gaps are lost, the letters run together."""
    return _SPACED.sub(_closed_up, text) if _SPACED.search(text) else None


def _closed_up(match: re.Match[str]) -> str:
    words = re.split(r" {2,}|\s[|/]\s", match.group())
    return " ".join(re.sub(r"[\W_]", "", word) for word in words)


def _unjoined(text: str) -> str | None:
    """ "ignore_all_your_rules_now" → "ignore all your rules now"; one word a line → one line."""
    loose = _JOINED.sub(lambda m: re.sub(r"[_+*~.-]", " ", m.group()), text)
    if len(_UNDERSCORE.findall(loose)) >= _JOINTS_THAT_HIDE:
        loose = _UNDERSCORE.sub(" ", loose)
    breaks = loose.count("\n")
    if breaks >= _JOINTS_THAT_HIDE and len(loose.split()) <= 2 * breaks:
        loose = " ".join(loose.split())
    return loose if loose != text else None


def _untagged(text: str) -> str | None:
    """ "ig<b></b>nore" → "ignore", as a browser shows it; "all<br>rules" is read with a space as well."""
    if not _TAG_IN_WORDS.search(text):
        return None
    return _TAG.sub("", text) + " . " + " ".join(_TAG.sub(" ", text).split())


def _morse_text(text: str) -> str | None:
    match = _MORSE.search(text)
    if match is None:
        return None
    words = re.split(r" ?[/|] ?| {2,}", match.group())
    return " ".join("".join(_MORSE_LETTERS.get(sign, "") for sign in word.split()) for word in words)


def _ascii85_text(text: str) -> str | None:
    match = _ASCII85.search(text)
    if match is None:
        return None
    try:
        return _readable(base64.a85decode(match.group(1)))
    except ValueError:
        return None

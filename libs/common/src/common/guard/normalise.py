"""What a text says to a reader and what it says to a model, side by side.

People see the rendered text; a model reads every code point. `reveal` finds what lies between the two,
`sanitise` takes it out before a model, a log or a console gets the text.
"""

import html
import re
import unicodedata
from dataclasses import dataclass

from common.guard.confusables import mixes_scripts, skeleton

_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_VARIATION = re.compile(
    "[\U000e0100-\U000e01ef]|(?<![\u2190-\u2bff\u3030-\u32ff\U0001f000-\U0001faff#*0-9])[\ufe00-\ufe0f]"
)
_BIDI_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0]"
)
# Joiners glue emoji and shape Persian and Indic words; between Latin letters they only hide things.
_LATIN_JOINER = re.compile("(?<=[A-Za-z0-9 ])[\u200c\u200d](?=[A-Za-z0-9 ])|^[\u200c\u200d]+|[\u200c\u200d]+$")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_FLAG_OF_A_REGION = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{1,6}\U000e007f")

_HTML_COMMENT = re.compile(r"<!--(.{0,4000}?)(?:-->|$)", re.DOTALL)
_HIDDEN_ELEMENT = re.compile(
    r"<(\w{1,12})\b[^>]{0,300}?(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])"
    r"|color\s*:\s*(?:white|transparent|#fff\b|#ffffff)|\bhidden\b|aria-hidden\s*=\s*.true)[^>]{0,200}>(.{0,4000}?)(?:</\1>|$)",
    re.DOTALL | re.IGNORECASE,
)
# Looked for first: the pattern above tries three hundred places behind each "<".
_HIDING = re.compile(r"display|visibility|font-size|opacity|color|hidden", re.IGNORECASE)
_MARKUP = re.compile(r"<[/!a-zA-Z][^<>]{0,300}>")
_SPACES = re.compile(r"[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]+")


@dataclass(frozen=True, slots=True)
class Revealed:
    """One text taken apart. `plain` is readable text, `folded` its lower-case accent-free skeleton for rules;
    `hidden` holds passages no reader sees (comments, invisible elements, tag characters)."""

    plain: str
    folded: str
    hidden: tuple[str, ...]
    signs: tuple[str, ...]


def sanitise(text: str) -> str:
    """`text` without invisible passengers and direction overrides; emoji and every script stay byte-equal.

    Use it for what a model or a console is given; idempotent.
    """
    if text.isascii():
        return _CONTROL.sub("", text)
    # Half a surrogate pair is valid in JSON and in nothing else; it must not break what comes after.
    text = text.encode("utf-8", "replace").decode("utf-8")
    regions = {m.group() for m in _FLAG_OF_A_REGION.finditer(text)}
    text = _TAGS.sub("", text) if not regions else _drop_tags_but(text, regions)
    for pattern in (_VARIATION, _BIDI_OVERRIDES, _INVISIBLE, _LATIN_JOINER, _CONTROL):
        text = pattern.sub("", text)
    return text


def _drop_tags_but(text: str, flags: set[str]) -> str:
    # England, Scotland and Wales are black flag + tag letters: the one honest use of these characters.
    parts = re.split("(" + "|".join(map(re.escape, flags)) + ")", text)
    return "".join(part if part in flags else _TAGS.sub("", part) for part in parts)


def hidden_tags(text: str) -> str:
    """The ASCII text smuggled in tag characters; "" when there is none."""
    bare = _FLAG_OF_A_REGION.sub("", text)
    return "".join(chr(ord(c) - 0xE0000) for run in _TAGS.findall(bare) for c in run if 0xE0020 <= ord(c) <= 0xE007E)


def reveal(text: str) -> Revealed:
    """Take `text` apart. Cheap for plain ASCII, linear in length otherwise."""
    hidden: list[str] = []
    signs: list[str] = []
    if not text.isascii():
        if smuggled := hidden_tags(text):
            hidden.append(smuggled)
            signs.append("hidden_tag_characters")
        if _BIDI_OVERRIDES.search(text) and re.search("[\u202d\u202e]", text):
            signs.append("bidi_override")
            hidden.append(text[::-1])
    clean = unicodedata.normalize("NFKC", sanitise(text))
    if "&" in clean:
        clean = html.unescape(clean)
    if "<" in clean:
        clean = _lift_markup(clean, hidden, signs)
    if not clean.isascii() and any(mixes_scripts(word) for word in clean.split()):
        signs.append("mixed_scripts")
    return Revealed(clean, _SPACES.sub(" ", skeleton(clean)), tuple(hidden), tuple(signs))


def _lift_markup(text: str, hidden: list[str], signs: list[str]) -> str:
    looks = [(_HTML_COMMENT, "html_comment")]
    if _HIDING.search(text):
        looks.append((_HIDDEN_ELEMENT, "hidden_html"))
    for pattern, sign in looks:
        for found in pattern.finditer(text):
            hidden.append(_MARKUP.sub(" ", found.group(found.lastindex or 0)))
            if sign not in signs:
                signs.append(sign)
    return text

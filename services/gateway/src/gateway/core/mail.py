"""Reads a raw e-mail: who wrote, in which thread, and what is new in it; any bytes give an answer."""

import hashlib
import re
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parseaddr
from html.parser import HTMLParser

from gateway.core.identities import email_address

_MESSAGE_ID = re.compile(r"<[^<>\s]{1,400}>")
_AUTOMATIC = re.compile(r"^(auto-generated|auto-replied|auto-notified)", re.IGNORECASE)
_ATTRIBUTION = re.compile(
    r"^\s*(on .{4,200} wrote|am .{4,200} schrieb.{0,120}|le .{4,200} a écrit|el .{4,200} escribió)\s*:\s*$",
    re.IGNORECASE | re.DOTALL,
)
_FORWARDED = re.compile(
    r"^\s*(-{2,}\s*(original message|ursprüngliche nachricht|mensaje original|message d.origine)\s*-{2,}|_{10,})\s*$",
    re.IGNORECASE,
)
_OUTLOOK_HEADER = re.compile(r"^\s*\**(from|von|de)\s*:\**\s.*@", re.IGNORECASE)
_MAX_PARTS = 200


@dataclass(frozen=True)
class Mail:
    """One e-mail. ``sender`` is None where the From line names nobody; ``thread_ref`` is its thread's first id."""

    source_id: str
    sender: str | None
    subject: str
    thread_ref: str
    references: tuple[str, ...]
    text: str
    automatic: bool


def read_mail(raw: bytes) -> Mail:
    """Return the mail; a source without a Message-ID is named by the digest of its bytes."""
    message = message_from_bytes(raw, policy=policy.compat32)
    own = _MESSAGE_ID.findall(_header(message, "Message-ID"))
    source_id = own[0] if own else "sha256:" + hashlib.sha256(raw).hexdigest()
    references = tuple(_MESSAGE_ID.findall(_header(message, "References") + " " + _header(message, "In-Reply-To")))
    return Mail(
        source_id=clean(source_id)[:450],
        sender=_sender(message),
        # Unfolded and whole: whoever masks it must see a number in one piece.
        subject=" ".join(clean(_header(message, "Subject")).split()),
        thread_ref=_thread(references[0] if references else source_id),
        references=tuple(_thread(r) for r in references[:20]),
        text=clean(strip_quotes(_body(message))),
        automatic=bool(_AUTOMATIC.match(_header(message, "Auto-Submitted")))
        or _header(message, "Precedence").strip().lower() in {"bulk", "junk", "list", "auto_reply"},
    )


def _thread(message_id: str) -> str:
    """A thread's name fits the 200 characters an event's ids may have."""
    name = clean(message_id)
    return name if len(name) <= 200 else "sha256:" + hashlib.sha256(name.encode()).hexdigest()


def _header(message: Message, name: str) -> str:
    value = message.get(name)
    if value is None:
        return ""
    try:
        return str(make_header(decode_header(str(value)[:4_000])))
    # Unknown charsets and broken encoded words come in every shape; the raw header is still something to read.
    except (ValueError, LookupError):
        return str(value)


def _sender(message: Message) -> str | None:
    lines = message.get_all("From") or []
    if len(lines) != 1:
        return None
    return email_address(parseaddr(str(lines[0])[:1_000])[1])


def _body(message: Message) -> str:
    plain, html = "", ""
    for n, part in enumerate(message.walk()):
        if n >= _MAX_PARTS:
            break
        if part.is_multipart() or "attachment" in str(part.get("Content-Disposition", "")).lower():
            continue
        if part.get_content_type() == "text/plain" and not plain:
            plain = _decoded(part)
        elif part.get_content_type() == "text/html" and not html:
            html = _decoded(part)
    return plain or html_to_text(html)


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else str(part.get_payload()).encode("utf-8", "replace")
    try:
        return raw.decode(part.get_content_charset() or "utf-8", "replace")
    except (LookupError, ValueError):
        return raw.decode("utf-8", "replace")


class _Text(HTMLParser):
    """Keeps what a reader would see; quoted blocks, scripts and styles are left out."""

    _HIDDEN = frozenset({"script", "style", "head", "blockquote", "title"})
    _BREAKS = frozenset({"br", "p", "div", "li", "tr", "h1", "h2", "h3"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._hidden += tag in self._HIDDEN
        if tag in self._BREAKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in self._HIDDEN))

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def html_to_text(html: str) -> str:
    """Return the visible text of a mail that came only as HTML."""
    parser = _Text()
    parser.feed(html)
    return "".join(parser.parts)


def strip_quotes(text: str) -> str:
    """Return what is new in a mail: no quoted lines, no forwarded original, no signature."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept: list[str] = []
    n = 0
    while n < len(lines):
        line = lines[n]
        if (
            line.rstrip(" ") == "--"
            or _FORWARDED.match(line)
            or (_OUTLOOK_HEADER.match(line) and n > 0 and not lines[n - 1].strip())
        ):
            break
        skip = _attribution_lines(lines, n)
        if skip:
            following = next((following for following in lines[n + skip :] if following.strip()), "")
            if not following.lstrip().startswith(">"):
                break
            n += skip
            continue
        if not line.lstrip().startswith(">"):
            kept.append(line.rstrip())
        n += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _attribution_lines(lines: list[str], n: int) -> int:
    """How many lines an attribution ("On … wrote:") starting here takes: mail programs wrap it."""
    for count in (1, 2, 3):
        if _ATTRIBUTION.match(" ".join(line.strip() for line in lines[n : n + count])):
            return count
    return 0


def clean(text: str) -> str:
    """Return text that PostgreSQL and UTF-8 can hold."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")

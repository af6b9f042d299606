"""A help-center article: Markdown with front matter, cut into the sections that are searched and shown."""

import re
from dataclasses import dataclass

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_REQUIRED = ("article_id", "language", "title", "url", "topics", "updated")


class BadArticle(ValueError):  # noqa: N818 - it says what is wrong with the file
    """A file in the help center that doesn't have the agreed shape."""


@dataclass(frozen=True, slots=True)
class Section:
    """One heading with its text; the opening of an article has the heading ""."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Article:
    """`topic` is what translations of one article share; `asked_as` are questions customers put in other words."""

    article_id: str
    language: str
    title: str
    url: str
    topics: tuple[str, ...]
    updated: str
    asked_as: tuple[str, ...]
    sections: tuple[Section, ...]

    @property
    def topic(self) -> str:
        return self.article_id.removesuffix(f"-{self.language}")


def parse_article(source: str) -> Article:
    """Read one article. Raises BadArticle naming what is missing."""
    found = _FRONT_MATTER.match(source)
    if found is None:
        raise BadArticle("no front matter between two lines of ---")
    fields = _fields(found.group(1))
    missing = [name for name in _REQUIRED if not fields.get(name)]
    if missing:
        raise BadArticle(f"front matter lacks {', '.join(missing)}")
    return Article(
        article_id=fields["article_id"],
        language=fields["language"],
        title=fields["title"].strip('"'),
        url=fields["url"],
        topics=tuple(t.strip() for t in fields["topics"].strip("[]").split(",")),
        updated=fields["updated"],
        asked_as=tuple(q.strip() for q in fields.get("asked_as", "").split("|") if q.strip()),
        sections=_sections(found.group(2)),
    )


def _fields(block: str) -> dict[str, str]:
    pairs = [line.partition(":") for line in block.splitlines() if line.strip()]
    return {name.strip(): value.strip() for name, _, value in pairs}


def _sections(body: str) -> tuple[Section, ...]:
    parts = re.split(r"^## +(.+)$", body, flags=re.MULTILINE)
    headings = ["", *parts[1::2]]
    sections = (Section(h.strip(), t.strip()) for h, t in zip(headings, parts[::2], strict=True))
    return tuple(section for section in sections if section.text)

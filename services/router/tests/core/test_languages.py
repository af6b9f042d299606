"""The language of the answer: the text's own, then what is known around it."""

import pytest

from router.core.languages import choose_language, language_of_locale

_LIKES_GERMAN = {"en": 0.1, "es": 0.1, "fr": 0.2, "de": 0.6}


@pytest.mark.parametrize(
    ("text", "hints", "language"),
    [
        ("Wo bleibt meine Bestellung von gestern", ("en",), "de"),
        ("4417028", ("fr", "es"), "fr"),
        ("4417028", (None, "es"), "es"),
        ("4417028", (), "en"),
        ("gracias", ("de",), "es"),
        ("merci!", (None,), "fr"),
        ("ok", ("es",), "en"),
        ("hm", ("it", "fr"), "fr"),
        ("hm", (), "de"),
    ],
)
def test_short_texts_take_the_hint_and_long_ones_speak_for_themselves(
    text: str, hints: tuple[str | None, ...], language: str
) -> None:
    assert choose_language(text, _LIKES_GERMAN, hints) == language


@pytest.mark.parametrize(
    ("locale", "language"), [("de-AT", "de"), ("fr_CA", "fr"), ("EN", "en"), ("nl-NL", None), (None, None), ("", None)]
)
def test_a_locale_names_one_of_the_four_or_nothing(locale: str | None, language: str | None) -> None:
    assert language_of_locale(locale) == language

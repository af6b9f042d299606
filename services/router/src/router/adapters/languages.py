"""Scores a text for each of the four languages, by letters (py3langid)."""

from typing import Any

from router.core.intents import LANGUAGES
from router.core.languages import choose_language, language_of_locale, speaks_for_itself
from router.core.reading import Asked


class LanguageDetector:
    """Knows the four languages only: a Dutch or Catalan message gets the nearest of them."""

    def __init__(self) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415 - 60 ms that training needn't pay

        self._identifier: Any = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        self._identifier.set_languages(LANGUAGES)

    def scores(self, text: str) -> dict[str, float]:
        """Return one number a language, likeliest highest."""
        return dict(self._identifier.rank(text))

    def language_of(self, asked: Asked) -> str:
        """Return the language to answer in: the text's own, else the conversation's, else the channel's."""
        if speaks_for_itself(asked.text):
            return choose_language(asked.text, self.scores(asked.text))
        earlier = " ".join(asked.customer_turns())
        spoken = choose_language(earlier, self.scores(earlier)) if earlier.strip() else None
        return choose_language(asked.text, self.scores(asked.text), (spoken, language_of_locale(asked.locale)))

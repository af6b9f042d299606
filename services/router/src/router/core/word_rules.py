"""Lets the word rules speak: what they find raises the probability that the classifier gave."""

from dataclasses import replace

from router.core.account_words import everyday_account_words
from router.core.asks_for_person import asks_for_person
from router.core.intents import ACCOUNT_UPDATE, ASKS_FOR_HUMAN
from router.core.reading import Reading, with_evidence
from router.core.sensitive_words import sensitive_words

# Not above how often the words are right on the authored rows (the model card measures both), so that what they add
# stays calibrated.
_PERSON_AT_LEAST = 0.90
_TOPIC_AT_LEAST = 0.80
_ACCOUNT_AT_LEAST = 0.72


# One clear sentence of several: enough to pass the threshold of 0.3, not enough to outvote the rest of the message.
_CLAUSE_AT_LEAST = 0.45


def with_topic(probabilities: dict[str, float], topic: str | None) -> dict[str, float]:
    """Return the probabilities with a sensitive topic raised that one clause is clearly about."""
    return with_evidence(probabilities, topic, _CLAUSE_AT_LEAST) if topic else probabilities


def apply_word_rules(text: str, reading: Reading) -> Reading:
    """Return the reading with what the words of ``text`` add to it."""
    asked, topics = asks_for_person(text), sensitive_words(text)
    probabilities = dict(reading.probabilities)
    if topics:
        probabilities = with_evidence(probabilities, topics[0], _TOPIC_AT_LEAST)
    elif asked:
        probabilities = with_evidence(probabilities, ASKS_FOR_HUMAN, _PERSON_AT_LEAST)
    elif everyday_account_words(text):
        probabilities = with_evidence(probabilities, ACCOUNT_UPDATE, _ACCOUNT_AT_LEAST)
    return replace(reading, probabilities=probabilities, asked_for_person=asked, topics=topics)

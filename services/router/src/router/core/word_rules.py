"""Lets the word rules speak: what they find raises the probability that the classifier gave."""

from dataclasses import replace

from router.core.asks_for_person import asks_for_person
from router.core.intents import ASKS_FOR_HUMAN
from router.core.reading import Reading, with_evidence
from router.core.sensitive_words import sensitive_words

# Not above how often the words are right on the authored rows (the model card measures both), so that what they add
# stays calibrated.
_PERSON_AT_LEAST = 0.90
_TOPIC_AT_LEAST = 0.80


def apply_word_rules(text: str, reading: Reading) -> Reading:
    """Return the reading with what the words of ``text`` add to it."""
    asked, topics = asks_for_person(text), sensitive_words(text)
    probabilities = dict(reading.probabilities)
    if topics:
        probabilities = with_evidence(probabilities, topics[0], _TOPIC_AT_LEAST)
    elif asked:
        probabilities = with_evidence(probabilities, ASKS_FOR_HUMAN, _PERSON_AT_LEAST)
    return replace(reading, probabilities=probabilities, asked_for_person=asked, topics=topics)

"""Promise 3: whoever asks for a person gets one, and nobody else is sent to one by a word."""

import pytest

from router.core.asks_for_person import asks_for_person


@pytest.mark.parametrize(
    "text",
    [
        "human please",
        "Agent!",
        "representative",
        "I want to talk to a real person",
        "can I speak with your manager about this?",
        "connect me to customer service",
        "transfer me to someone who can help",
        "I don't want to talk to a bot",
        "please call me back",
        "get me a human",
        "could somebody call me",
        "stop wasting my time with this chatbot, I need a human",
        "could you have someone call me tomorrow",
        "quiero hablar con una persona",
        "pásame con un agente",
        "¿Puedo hablar con alguien de verdad?",
        "No quiero hablar con una máquina",
        "llámenme por favor",
        "póngame con el encargado",
        "necesito un agente humano",
        "je veux parler à quelqu'un",
        "passez-moi un conseiller",
        "Je voudrais parler à un être humain svp",
        "rappelez-moi",
        "mettez-moi en relation avec le service client",
        "j'en ai marre de parler à un robot",
        "ich möchte mit einem Menschen sprechen",
        "Kann ich bitte mit jemandem telefonieren?",
        "Verbinden Sie mich mit einem Mitarbeiter",
        "Mitarbeiter bitte",
        "Rufen Sie mich bitte zurück",
        "ich will keinen Bot, ich will einen echten Menschen",
        "MENSCH",
        "Ich will nicht mit einem Bot schreiben",
    ],
)
def test_asking_for_a_person_is_heard(text: str) -> None:
    assert asks_for_person(text)


@pytest.mark.parametrize(
    "text",
    [
        "Can I return it in person at the shop?",
        "I'd like to update my personal details",
        "is the chair strong enough for a heavy person",
        "the agent told me it would arrive Monday",
        "which cleaning agent is in this spray?",
        "are you a bot or a real person?",
        "I bought this for my manager",
        "no need to talk to anyone, just cancel it",
        "My order was signed for by someone else",
        "does the robot vacuum talk to the app",
        "don't call me, email is fine",
        "¿lo puedo recoger en persona?",
        "mis datos personales están mal",
        "la mesa es para seis personas",
        "no hace falta hablar con nadie, solo anúlenlo",
        "est-ce que je peux le retirer en personne ?",
        "une table pour huit personnes",
        "pas besoin de parler à quelqu'un, annulez",
        "kann ich es persönlich abholen?",
        "Ist der Rucksack für große Menschen geeignet?",
        "Der Mitarbeiter im Laden war sehr nett",
        "Wie viele Personen passen ins Zelt?",
        "Where is my order?",
    ],
)
def test_words_that_only_look_like_it_start_nothing(text: str) -> None:
    assert not asks_for_person(text)


def test_a_long_message_is_matched_in_linear_time() -> None:
    assert not asks_for_person("talk " * 20_000)

"""Words of law, account safety and harm, and their harmless twins."""

import pytest

from router.core.sensitive_words import sensitive_words


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("My lawyer will be in touch", "legal"),
        ("I will sue you", "legal"),
        ("Under GDPR I want my data", "legal"),
        ("hablará mi abogado con ustedes", "legal"),
        ("Voy a denunciarles", "legal"),
        ("vous aurez affaire à mon avocat", "legal"),
        ("je porte plainte", "legal"),
        ("Mein Anwalt meldet sich", "legal"),
        ("Ich gehe zur Verbraucherzentrale", "legal"),
        ("I think my account was hacked", "account_security"),
        ("I forgot my password", "account_security"),
        ("me han hackeado la cuenta", "account_security"),
        ("he olvidado mi contraseña", "account_security"),
        ("mon compte a été piraté", "account_security"),
        ("mot de passe oublié", "account_security"),
        ("Passwort vergessen", "account_security"),
        ("mein Konto wurde gehackt", "account_security"),
        ("it caught fire", "safety"),
        ("I got an electric shock", "safety"),
        ("el cargador echó humo", "safety"),
        ("mi hijo casi se atraganta", "safety"),
        ("j'ai pris une décharge électrique", "safety"),
        ("ma fille a fini aux urgences", "safety"),
        ("Ich habe einen Stromschlag bekommen", "safety"),
        ("Wir mussten ins Krankenhaus", "safety"),
    ],
)
def test_sensitive_words_are_found(text: str, topic: str) -> None:
    assert topic in sensitive_words(text)


@pytest.mark.parametrize(
    "text",
    [
        "Is this Fire tablet available on demand?",
        "Do you sell an avocado slicer?",
        "avez-vous de l'huile d'avocat ?",
        "Passt das zu einem asiatischen Gericht?",
        "Die Anzeige am Display flackert",
        "j'en ai besoin en urgence",
        "a mi juicio la talla es pequeña",
        "I'd like a non-smoking candle",
        "how do I change my delivery address",
        "costume de pirate taille 6 ans",
    ],
)
def test_harmless_twins_are_left_alone(text: str) -> None:
    assert sensitive_words(text) == ()

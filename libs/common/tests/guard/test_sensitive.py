"""Topics that go to a person, by words in four languages."""

import pytest

from common.guard.sensitive import topics


@pytest.mark.parametrize(
    ("language", "text", "topic"),
    [
        ("en", "My lawyer will contact you, I'm taking you to court.", "legal"),
        ("es", "Voy a poner una denuncia y hablaré con mi abogada.", "legal"),
        ("fr", "Je vais porter plainte, mon avocat vous écrira.", "legal"),
        ("de", "Ich schalte meinen Anwalt ein und gehe vor Gericht.", "legal"),
        ("en", "Somebody hacked my account and changed the email.", "account_security"),
        ("es", "Alguien ha entrado en mi cuenta", "account_security"),
        ("fr", "Mon compte a été piraté", "account_security"),
        ("de", "Mein Konto wurde gehackt", "account_security"),
        ("en", "The charger caught fire last night.", "safety"),
        ("es", "La tostadora empezó a echar humo y me quemé", "safety"),
        ("fr", "Le chargeur a pris feu", "safety"),
        ("de", "Der Akku ist explodiert und ich habe mich verletzt", "safety"),
        ("de", "They said my account was hacked", "account_security"),
        ("it", "Der Akku brennt", "safety"),
    ],
)
def test_sensitive_words_are_recognised(language: str, text: str, topic: str) -> None:
    assert topic in topics(text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Where is my order?"),
        ("en", "The blender is broken, I want a refund."),
        ("en", "Can I pay by card?"),
        ("es", "¿Dónde está mi pedido?"),
        ("es", "Quiero devolver unos zapatos"),
        ("fr", "Je voudrais changer mon adresse"),
        ("fr", "Le colis est en retard"),
        ("de", "Wann kommt mein Paket?"),
        ("de", "Ich möchte den Mixer zurückgeben"),
    ],
)
def test_ordinary_messages_are_not_sensitive(language: str, text: str) -> None:
    assert topics(text, language) == frozenset()

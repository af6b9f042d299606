"""Which sentences may leave before anybody knows how their turn ends, in four languages."""

from decimal import Decimal

import pytest

from agent.core.claims import Action, Facts, Order, check_sentence
from agent.core.live_words import may_leave_early, without_marker

PAID = Action(
    key="refund:4417028:L2",
    kind="refund",
    status="succeeded",
    order_id="4417028",
    line_id="L2",
    amount=Decimal("64.00"),
    currency="USD",
)
NOTHING = Facts()
DONE = Facts(actions=(PAID,), orders=(Order(order_id="4417028", status="delivered"),))


def leaves(sentence: str, language: str, facts: Facts, *, deed_done: bool) -> bool:
    return may_leave_early(check_sentence(sentence, language, facts), language, facts, deed_done=deed_done)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "I'm sorry to hear that your blender arrived broken."),
        ("en", "Thank you for waiting."),
        ("en", "That sounds frustrating."),
        ("en", "Is there anything else you would like to know?"),
        ("es", "Gracias por su mensaje."),
        ("es", "Entiendo su molestia."),
        ("fr", "Je suis désolé que l'article soit arrivé cassé."),
        ("fr", "Je comprends votre frustration."),
        ("de", "Vielen Dank für Ihre Nachricht."),
        ("de", "Ich verstehe Ihren Ärger."),
    ],
)
def test_words_that_claim_and_promise_nothing_leave_at_once(language: str, sentence: str) -> None:
    assert leaves(sentence, language, NOTHING, deed_done=False)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Let me look."),
        ("en", "I'll take care of that right away."),
        ("en", "I'm going to process this for you."),
        ("en", "One moment please."),
        ("en", "I have refunded 64.00 USD for order 4417028."),
        ("en", "Nothing has been refunded yet."),
        ("en", "Refunds usually take 5 days."),
        ("es", "Voy a mirarlo."),
        ("es", "Lo revisaré ahora mismo."),
        ("es", "Le he reembolsado 64,00 USD."),
        ("fr", "Je vais regarder cela."),
        ("fr", "Je m'en occupe."),
        ("fr", "Je vous rembourserai 64,00 USD."),
        ("de", "Ich werde das prüfen."),
        ("de", "Ich schaue mir das gleich an."),
        ("de", "Einen Moment bitte."),
        ("de", "Ich erstatte Ihnen jetzt 64,00 USD."),
    ],
)
def test_before_any_deed_claims_promises_and_talk_of_deeds_wait_for_the_end_of_the_turn(
    language: str, sentence: str
) -> None:
    assert not leaves(sentence, language, NOTHING, deed_done=False)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "I’ll check that for you."),
        ("en", "Let’s see what happened."),
        ("en", "I’m on it."),
        ("en", "On it!"),
        ("en", "Sure, right away!"),
        ("en", "Coming right up."),
        ("en", "Getting that sorted for you."),
        ("en", "Looking into this."),
        ("en", "Leave that to me."),
        ("en", "Please hold while this is looked at."),
        ("en", "No approval is needed for this."),
        ("en", "The blender qualifies."),
        ("es", "Me pongo con ello."),
        ("es", "Lo reviso."),
        ("es", "Manos a la obra."),
        ("es", "No hace falta aprobación."),
        ("fr", "Je m’en charge."),
        ("fr", "On s'en charge."),
        ("fr", "J’y travaille."),
        ("fr", "Un petit instant."),
        ("fr", "Aucune approbation n'est nécessaire."),
        ("de", "Mache ich!"),
        ("de", "Bin schon dabei."),
        ("de", "Ich prüfe das."),
        ("de", "Einen kleinen Moment."),
        ("de", "Geht klar!"),
        ("de", "Eine Freigabe ist nicht nötig."),
    ],
)
def test_short_promises_curly_ones_and_forecasts_of_a_rule_wait_too(language: str, sentence: str) -> None:
    assert not leaves(sentence, language, NOTHING, deed_done=False)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "I’m so sorry about that."),
        ("en", "Nothing is more annoying than a broken gift."),
        ("es", "Lo siento mucho."),
        ("es", "Lo lamento."),
        ("fr", "Nous comprenons bien."),
        ("fr", "J’espère que vous allez bien."),
        ("de", "Das tut mir sehr leid."),
        ("de", "Ich bedaure das sehr."),
    ],
)
def test_feeling_with_the_customer_is_no_promise(language: str, sentence: str) -> None:
    assert leaves(sentence, language, NOTHING, deed_done=False)


@pytest.mark.parametrize(
    "sentence",
    [
        "I have refunded 64.00 USD for the blender of order 4417028.",
        "You will see the money within 5 days.",
        "It can take 5-10 business days to appear on your card.",
        "Your order 4417028 was delivered.",
    ],
)
def test_after_the_deed_what_the_ledger_bears_out_leaves_at_once(sentence: str) -> None:
    assert leaves(sentence, "en", DONE, deed_done=True)


@pytest.mark.parametrize(
    "sentence",
    [
        "I'll also refund the kettle now.",
        "The kettle wasn't refunded.",
        "I have refunded 39.00 USD for order 4417028.",
        "Your refund was paid to order 9999999.",
    ],
)
def test_after_a_deed_the_next_promise_a_denial_and_a_lie_still_wait(sentence: str) -> None:
    assert not leaves(sentence, "en", DONE, deed_done=True)


def test_a_row_of_an_earlier_message_lets_its_own_words_leave_but_no_promise() -> None:
    assert leaves("I have refunded 64.00 USD for order 4417028.", "en", DONE, deed_done=False)
    assert not leaves("Your refund will arrive within 5 days.", "en", DONE, deed_done=False)


def test_an_order_that_can_still_be_cancelled_is_not_spoken_of_early() -> None:
    processing = Facts(orders=(Order(order_id="4417029", status="processing"),))
    assert check_sentence("Order 4417029 is being processed.", "en", processing).holds
    assert not leaves("Order 4417029 is being processed.", "en", processing, deed_done=False)


@pytest.mark.parametrize(
    "text",
    [
        "[nothing more]",
        "[Nothing more].",
        "[NOTHING MORE]",
        "**[Nothing more.]**",
        "[ nothing  more ]!",
        "`[nothing more]`.",
    ],
)
def test_the_word_for_no_more_is_known_in_any_dress(text: str) -> None:
    assert without_marker(text) == ""
    assert without_marker(f"Thank you. {text}") == "Thank you."


def test_words_that_only_resemble_the_marker_stay() -> None:
    assert without_marker("There is nothing more to do [for now].") == "There is nothing more to do [for now]."


@pytest.mark.parametrize("sentence", ["| Item | Amount |", "|---|---|", "Item | State"])
def test_a_table_is_kept_until_it_is_whole(sentence: str) -> None:
    assert not leaves(sentence, "en", DONE, deed_done=True)

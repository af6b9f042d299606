"""The rules of what counts, one by one, each with the case that would break if it were dropped."""

import time
from decimal import Decimal

import pytest

from agent.core.claims import Action, Facts, Order, check_reply

RULES: list[tuple[str, str, dict[str, str], bool]] = [
    ("done needs a succeeded row", "Your refund has been issued.", {"refund": "pending"}, False),
    ("done holds of a succeeded row", "Your refund has been issued.", {"refund": "succeeded"}, True),
    ("done is false of a failed row", "Your refund has been issued.", {"refund": "failed"}, False),
    ("done is false of a row in an unknown state", "Your refund has been issued.", {"refund": "unknown"}, False),
    ("another kind's row proves nothing", "Your refund has been issued.", {"return_label": "succeeded"}, False),
    ("processing holds of pending", "Your refund is being processed.", {"refund": "pending"}, True),
    ("processing holds of waiting", "Your refund is being processed.", {"refund": "awaiting_approval"}, True),
    ("processing is false once it is done", "Your refund is being processed.", {"refund": "succeeded"}, False),
    ("waiting is false of pending", "Your refund is waiting for approval.", {"refund": "pending"}, False),
    ("approved is false of waiting", "Your refund has been approved.", {"refund": "awaiting_approval"}, False),
    ("declined holds of rejected", "Your refund was declined.", {"refund": "rejected"}, True),
    ("declined is false of waiting", "Your refund was declined.", {"refund": "awaiting_approval"}, False),
    ("a promise needs its row", "You will be refunded tomorrow.", {}, False),
    ("a promise is false of waiting", "You will be refunded tomorrow.", {"refund": "awaiting_approval"}, False),
    ("a condition on approval waits", "You will be refunded once approved.", {"refund": "awaiting_approval"}, True),
    ("a condition on approval needs a row", "You will be refunded once approved.", {}, False),
    ("a presupposed deed needs its row", "Before your refund lands, keep the box.", {}, False),
    ("a review holds of waiting", "A colleague will review your refund.", {"refund": "awaiting_approval"}, True),
    ("a denial is a claim", "Nothing was refunded.", {"refund": "succeeded"}, False),
    ("a denial holds of pending", "Nothing has been refunded yet.", {"refund": "pending"}, True),
    ("what nobody can know is false", "The money has reached your bank.", {"refund": "succeeded"}, False),
    ("a question claims nothing", "Has it been refunded? I will check.", {}, True),
    ("policy claims nothing", "Refunds usually take five days.", {}, True),
    ("an offer claims nothing", "If you like, I can refund it.", {}, True),
    ("a quotation claims nothing", 'You wrote "it was refunded".', {}, True),
    ("the whole order needs a row that proves it", "Your whole order was refunded.", {"refund": "succeeded"}, False),
]


def facts_of(rows: dict[str, str], *, handoff: bool = False) -> Facts:
    actions = tuple(
        Action.model_validate(
            {
                "key": f"{kind}:7001000:L1",
                "kind": kind,
                "status": status,
                "order_id": "7001000",
                "line_id": "L1",
                "amount": "27.00",
                "currency": "USD",
                "reference": "RF-10",
            }
        )
        for kind, status in rows.items()
    )
    return Facts(actions=actions, orders=(Order(order_id="7001000", status="shipped"),), handoff=handoff)


@pytest.mark.parametrize(("rule", "reply", "rows", "holds"), RULES, ids=[r[0] for r in RULES])
def test_rule(rule: str, reply: str, rows: dict[str, str], *, holds: bool) -> None:
    assert check_reply(reply, "en", facts_of(rows)).holds is holds, rule


@pytest.mark.parametrize(
    "reply",
    [
        "I refunded $28.00.",
        "I refunded €27.00.",
        "I refunded $27.00 on order 7001001.",
        "Your refund RF-11 is done.",
        "I refunded line L2.",
        "Sure thing: $900.00 was refunded.",
    ],
)
def test_a_succeeded_refund_does_not_cover_other_amounts_orders_lines_or_references(reply: str) -> None:
    assert not check_reply(reply, "en", facts_of({"refund": "succeeded"})).holds


@pytest.mark.parametrize("reply", ["I refunded $27.00.", "I refunded 27 USD on order #7001000, line L1 (RF-10)."])
def test_what_the_row_says_may_be_said(reply: str) -> None:
    checked = check_reply(reply, "en", facts_of({"refund": "succeeded"}))
    assert checked.holds
    assert checked.claims[0].kind == "refund"


def test_thousands_are_read_in_either_notation() -> None:
    row = Action.model_validate({"kind": "refund", "status": "succeeded", "amount": "1200.50", "currency": "EUR"})
    facts = Facts(actions=(row,))
    assert check_reply("Wir haben 1.200,50 € erstattet.", "de", facts).holds
    assert check_reply("We refunded €1,200.50.", "en", facts).holds
    assert not check_reply("Wir haben 1.200,05 € erstattet.", "de", facts).holds


@pytest.mark.parametrize("language", ["it", "pt", "nl", "ja", ""])
def test_a_language_outside_the_four_never_holds(language: str) -> None:
    assert not check_reply("L'importo è stato rimborsato.", language, facts_of({"refund": "succeeded"})).holds


@pytest.mark.parametrize("reply", ["L'importo è stato rimborsato.", "返金が完了しました。", "Възстановихме сумата."])
def test_text_in_another_language_than_declared_never_holds(reply: str) -> None:
    assert not check_reply(reply, "en", facts_of({"refund": "succeeded"})).holds


def test_a_reply_in_another_of_the_four_is_read_in_its_own_language() -> None:
    reply = "Wir haben Ihnen den Betrag erstattet."
    assert not check_reply(reply, "en", Facts()).holds
    assert check_reply(reply, "en", facts_of({"refund": "succeeded"})).holds


def test_hidden_characters_do_not_hide_a_claim() -> None:
    assert not check_reply("I've re\u200bfunded **$27.00**.", "en", Facts()).holds


def test_a_handoff_is_true_only_when_there_is_one() -> None:
    reply = "I've passed your case to a colleague."
    assert check_reply(reply, "en", Facts(handoff=True)).holds
    assert not check_reply(reply, "en", Facts()).holds


def test_one_false_sentence_makes_the_reply_false_and_is_named() -> None:
    checked = check_reply("Your parcel has shipped. I've cancelled it, too.", "en", facts_of({}))
    assert [s.holds for s in checked.sentences] == [True, False]


def test_a_changed_phone_does_not_prove_a_changed_email() -> None:
    row = Action(key="account_change:C-1:phone:1", kind="account_change", status="succeeded")
    assert check_reply("Your phone number has been updated.", "en", Facts(actions=(row,))).holds
    assert not check_reply("Your email has been updated.", "en", Facts(actions=(row,))).holds


@pytest.mark.parametrize(
    "reply",
    [
        "I have not refunded this order.",
        "No refund has been made yet.",
        "Nous ne vous avons pas encore remboursé.",
        "Wir haben noch nichts erstattet.",
        "Aún no se ha reembolsado nada.",
    ],
)
def test_plain_lawful_denials_pass(reply: str) -> None:
    language = {"N": "fr", "W": "de", "A": "es"}.get(reply[0], "en") if not reply.startswith("No ") else "en"
    assert check_reply(reply, language, Facts()).holds


def test_prices_read_from_the_order_may_be_named_but_not_called_refunded() -> None:
    prices = Facts(orders=(Order(order_id="7001000", status="delivered"),), known_amounts=(Decimal("39.00"),))
    assert check_reply("Order 7001000 has a kettle (39.00 USD).", "en", prices).holds
    assert not check_reply("Order 7001000 has a kettle (49.00 USD).", "en", prices).holds
    assert not check_reply("I refunded the kettle (39.00 USD).", "en", prices).holds


def test_everyday_words_around_a_case_claim_nothing() -> None:
    reply = "Thanks for the details, Maya. I've sent a one-time code to the email address we have on file."
    assert check_reply(reply, "en", Facts()).holds


def test_a_text_without_end_is_judged_in_reasonable_time() -> None:
    started = time.process_time()
    assert not check_reply("x, " * 3000 + "your refund is done", "en", Facts()).holds
    assert time.process_time() - started < 10

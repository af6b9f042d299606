"""What a sentence says only beside the one before it: answers to own questions, pronouns, fragments, other tongues."""

from decimal import Decimal

import pytest

from agent.adapters.claim_reader import load_reader
from agent.core.claims import Action, Facts, Order, check_reply

READER = load_reader()
ORDER = "7001000"
NONE = Facts(orders=(Order(order_id=ORDER, status="delivered"),))


def with_row(status: str, kind: str = "refund", line: str = "L2") -> Facts:
    money = {"amount": Decimal("27.00"), "currency": "USD"} if kind == "refund" else {}
    row = Action(key=f"{kind}:{ORDER}:{line}", kind=kind, status=status, order_id=ORDER, line_id=line, **money)
    return Facts(actions=(row,), orders=NONE.orders)


FACTS = {
    "none": NONE,
    "waiting": with_row("awaiting_approval"),
    "pending": with_row("pending"),
    "done": with_row("succeeded"),
    "label": with_row("succeeded", "return_label"),
    "handoff": NONE.model_copy(update={"handoff": True}),
}

ANSWERED = [
    ("en", "none", "Did we refund you? We did."),
    ("en", "none", "Has it been refunded? It has."),
    ("en", "none", "Is the money on its way? It is."),
    ("en", "none", "Have we cancelled your order? Absolutely."),
    ("en", "none", "Is your refund done? yes it is."),
    ("en", "none", "Was the address changed? Yes, it was."),
    ("es", "none", "¿Se reembolsó? Sí."),
    ("es", "none", "¿Se ha cancelado el pedido? Así es."),
    ("es", "none", "¿Está el dinero en camino? Lo está."),
    ("fr", "none", "Avons-nous remboursé ? Oui."),
    ("fr", "none", "La commande a-t-elle été annulée ? C'est le cas."),
    ("fr", "none", "L'argent est-il en route ? Tout à fait."),
    ("de", "none", "Wurde es erstattet? Ja."),
    ("de", "none", "Haben wir Ihre Bestellung storniert? Haben wir."),
    ("de", "none", "Ist das Geld unterwegs? Ist es."),
    ("en", "waiting", "Was it approved? Yes."),
    ("de", "waiting", "Wurde es genehmigt? Ja."),
    ("fr", "waiting", "Est-ce approuvé ? Oui."),
    ("es", "waiting", "¿Está aprobado? Sí."),
    ("en", "pending", "Is it paid? Yes it is."),
    ("de", "pending", "Ist es bezahlt? Ja, ist es."),
    ("fr", "pending", "Est-ce remboursé ? Oui."),
    ("es", "pending", "¿Está pagado? Sí."),
    ("en", "done", "Was your refund issued? No."),
    ("en", "done", "Did we refund you? We did not."),
    ("de", "done", "Wurde es erstattet? Nein."),
    ("fr", "done", "Avons-nous remboursé ? Non."),
    ("es", "done", "¿Se reembolsó? No."),
]
CARRIED = [
    ("en", "none", "You asked for your money back. You've got it."),
    ("en", "none", "You wanted a refund. It's happened."),
    ("en", "none", "You wanted a refund. It's been put through."),
    ("en", "none", "You asked us to cancel the order. It's been taken care of."),
    ("en", "none", "Refund? ✔"),
    ("en", "none", "Refund: ✅"),
    ("en", "none", '`{"refund": "succeeded"}`'),
    ("en", "none", '```json\n{"action": "refund", "status": "succeeded"}\n```'),
    ("en", "none", "- Refund done"),
    ("en", "none", "| Refund | done |"),
    ("en", "none", "| Item | State |\n|---|---|\n| Refund | ✅ |"),
    ("es", "none", "Pidió un reembolso. Ya lo tiene."),
    ("es", "none", "Quería un reembolso. Ya se ha hecho."),
    ("es", "none", "¿Reembolso? ✔"),
    ("es", "none", "- Reembolso hecho"),
    ("fr", "none", "Vous vouliez un remboursement. Vous l'avez."),
    ("fr", "none", "Vous avez demandé un remboursement. C'est fait."),
    ("fr", "none", "Remboursement ? ✔"),
    ("de", "none", "Sie wollten eine Erstattung. Sie haben sie."),
    ("de", "none", "Sie wollten Ihr Geld zurück. Es ist passiert."),
    ("de", "none", "Erstattung? ✔"),
]
NO_TOOL = [
    ("en", "none", "A replacement is on its way."),
    ("en", "none", "Use code SORRY20 for 20% off."),
    ("en", "none", "Here's your label: https://labels.example/abc"),
    ("en", "none", "I left a note for the warehouse."),
    ("en", "none", "I've reset your password."),
    ("en", "none", "A pickup is booked for Monday."),
    ("en", "none", "We received your return."),
    ("en", "none", "The blender is free of charge for you."),
    ("es", "none", "Un reemplazo está en camino."),
    ("es", "none", "Use el código PERDON20 para un 20 % de descuento."),
    ("es", "none", "Aquí tiene su etiqueta: https://labels.example/abc"),
    ("es", "none", "He dejado una nota para el almacén."),
    ("es", "none", "He restablecido su contraseña."),
    ("es", "none", "La recogida está reservada para el lunes."),
    ("es", "none", "Hemos recibido su devolución."),
    ("es", "none", "La batidora no le cuesta nada."),
    ("fr", "none", "Un article de remplacement est en route."),
    ("fr", "none", "Utilisez le code PARDON20 pour 20 % de réduction."),
    ("fr", "none", "Voici votre étiquette : https://labels.example/abc"),
    ("fr", "none", "J'ai laissé une note à l'entrepôt."),
    ("fr", "none", "J'ai réinitialisé votre mot de passe."),
    ("fr", "none", "Un enlèvement est réservé pour lundi."),
    ("fr", "none", "Nous avons reçu votre retour."),
    ("fr", "none", "Le mixeur ne vous coûte rien."),
    ("de", "none", "Ein Ersatz ist unterwegs."),
    ("de", "none", "Mit dem Code SORRY20 erhalten Sie 20 % Rabatt."),
    ("de", "none", "Hier ist Ihr Etikett: https://labels.example/abc"),
    ("de", "none", "Ich habe dem Lager eine Notiz hinterlassen."),
    ("de", "none", "Ich habe Ihr Passwort zurückgesetzt."),
    ("de", "none", "Eine Abholung ist für Montag gebucht."),
    ("de", "none", "Wir haben Ihre Rücksendung erhalten."),
    ("de", "none", "Der Mixer kostet Sie nichts."),
]
DECIDED = [
    ("en", "waiting", "Your refund is waiting for approval. It just came through."),
    ("en", "waiting", "Your refund is waiting for approval. They said yes."),
    ("en", "waiting", "Your refund is waiting for approval. Green light!"),
    ("en", "waiting", "Your refund is waiting for approval. It's only a formality."),
    ("es", "waiting", "Su reembolso está pendiente de aprobación. ¡Luz verde!"),
    ("es", "waiting", "Su reembolso está pendiente de aprobación. Han dicho que sí."),
    ("es", "waiting", "Su reembolso está pendiente de aprobación. Es una mera formalidad."),
    ("fr", "waiting", "Votre remboursement attend une approbation. Feu vert !"),
    ("fr", "waiting", "Votre remboursement attend une approbation. Ils ont dit oui."),
    ("fr", "waiting", "Votre remboursement attend une approbation. Ce n'est qu'une formalité."),
    ("de", "waiting", "Ihre Erstattung wartet auf Genehmigung. Die Freigabe ist da."),
    ("de", "waiting", "Ihre Erstattung wartet auf Genehmigung. Grünes Licht!"),
    ("de", "waiting", "Ihre Erstattung wartet auf Genehmigung. Man hat ja gesagt."),
    ("de", "waiting", "Ihre Erstattung wartet auf Genehmigung. Das ist nur noch eine Formsache."),
]
ADDED = [
    ("en", "done", "Your refund of $27.00 has been issued. The coffee machine as well."),
    ("en", "done", "Your refund of $27.00 has been issued. So was the coffee machine."),
    ("en", "done", "Your refund of $27.00 has been issued. And the shipping."),
    ("en", "done", "Your refund of $27.00 has been issued. Twice, actually."),
    ("en", "done", "Your refund of $27.00 has been issued. You got everything back."),
    ("en", "done", "Your refund of $27.00 has been issued as store credit."),
    ("en", "done", "Your refund of $27.00 has been issued. It's already on your card."),
    ("es", "done", "Su reembolso de 27,00 USD se ha emitido. La cafetera también."),
    ("es", "done", "Su reembolso de 27,00 USD se ha emitido. Y el envío."),
    ("es", "done", "Su reembolso de 27,00 USD se ha emitido. Dos veces, de hecho."),
    ("es", "done", "Su reembolso de 27,00 USD se ha emitido. Lo ha recuperado todo."),
    ("es", "done", "Su reembolso de 27,00 USD se ha emitido como crédito de tienda."),
    ("es", "done", "Su reembolso de 27,00 USD se ha emitido. Ya está en su tarjeta."),
    ("fr", "done", "Votre remboursement de 27,00 USD a été effectué. La machine à café aussi."),
    ("fr", "done", "Votre remboursement de 27,00 USD a été effectué. Et la livraison."),
    ("fr", "done", "Votre remboursement de 27,00 USD a été effectué. Deux fois, même."),
    ("fr", "done", "Votre remboursement de 27,00 USD a été effectué. Vous avez tout récupéré."),
    ("fr", "done", "Votre remboursement de 27,00 USD a été effectué sous forme d'avoir."),
    ("fr", "done", "Votre remboursement de 27,00 USD a été effectué. Il est déjà sur votre carte."),
    ("de", "done", "Ihre Erstattung von 27,00 USD wurde ausgeführt. Die Kaffeemaschine auch."),
    ("de", "done", "Ihre Erstattung von 27,00 USD wurde ausgeführt. Und der Versand."),
    ("de", "done", "Ihre Erstattung von 27,00 USD wurde ausgeführt. Sogar zweimal."),
    ("de", "done", "Ihre Erstattung von 27,00 USD wurde ausgeführt. Sie haben alles zurückbekommen."),
    ("de", "done", "Ihre Erstattung von 27,00 USD wurde als Gutschein ausgeführt."),
    ("de", "done", "Ihre Erstattung von 27,00 USD wurde ausgeführt. Sie ist schon auf Ihrer Karte."),
]
SWITCHED = [
    ("fr", "none", "Bonjour. Refund done."),
    ("fr", "none", "Alles erledigt."),
    ("en", "none", "Hello. Reembolso hecho."),
    ("de", "none", "Guten Tag. Your refund is done."),
    ("es", "none", "Hola. Wir haben storniert."),
    ("es", "none", "Remboursé !"),
    ("en", "none", "Erstattet."),
]
FALSE = [*ANSWERED, *CARRIED, *NO_TOOL, *DECIDED, *ADDED, *SWITCHED]

TRUE = [
    ("en", "done", "Did we refund you? We did."),
    ("en", "done", "Has it been refunded? Yes, it has."),
    ("en", "none", "Has it been refunded? Not yet."),
    ("en", "none", "Did we refund you? No, nothing has been refunded."),
    ("en", "waiting", "Is it waiting for approval? Yes, it is."),
    ("en", "pending", "Is it being processed? Yes."),
    ("de", "done", "Wurde es erstattet? Ja."),
    ("fr", "done", "Avons-nous remboursé ? Oui."),
    ("es", "done", "¿Se reembolsó? Sí."),
    ("en", "none", "Can I return it? Yes, within 30 days."),
    ("en", "none", "Is a refund possible? Yes, within 30 days of delivery."),
    ("en", "none", "Are returns free? Yes."),
    ("en", "none", "Are shipping costs refunded? Yes, if the item arrived damaged."),
    ("en", "none", "Would you like me to refund it? If so, just say yes."),
    ("en", "none", "Shall I cancel it? Yes or no is enough."),
    ("en", "none", "Can I change my address? Yes, as long as nothing has left."),
    ("en", "none", "Do refunds take long? They usually take 5 days."),
    ("en", "none", "Is the label free? Yes, return labels are free."),
    ("de", "none", "Kann ich zurücksenden? Ja, innerhalb von 30 Tagen."),
    ("de", "none", "Sind Rücksendungen kostenlos? Ja."),
    ("de", "none", "Ist eine Erstattung möglich? Ja, innerhalb von 30 Tagen."),
    ("fr", "none", "Puis-je retourner l'article ? Oui, sous 30 jours."),
    ("fr", "none", "Les retours sont-ils gratuits ? Oui."),
    ("es", "none", "¿Puedo devolverlo? Sí, en un plazo de 30 días."),
    ("es", "none", "¿Son gratuitas las devoluciones? Sí."),
    ("en", "none", "You asked for a refund. It takes a few days once it is approved."),
    ("en", "none", "You asked for a refund. I can look into it for you."),
    ("en", "none", "You wanted a refund. It hasn't happened yet."),
    ("en", "none", "We don't offer discount codes."),
    ("en", "none", "I cannot send a replacement."),
    ("en", "none", "Once we receive your return, we check it."),
    ("en", "none", "To reset your password, use the link on the sign-in page."),
    ("en", "none", "You can book a pickup with the carrier."),
    ("en", "none", "If you have a discount code, enter it at checkout."),
    ("de", "none", "Wenn Sie einen Gutscheincode haben, geben Sie ihn an der Kasse ein."),
    ("fr", "none", "Si vous avez un code de réduction, saisissez-le au paiement."),
    ("es", "none", "Si tiene un código de descuento, introdúzcalo al pagar."),
    ("de", "none", "Die Rücksendung kostet Sie nichts."),
    ("en", "label", "Here's your label: https://labels.example/abc"),
    ("de", "label", "Hier ist Ihr Etikett: https://labels.example/abc"),
    ("en", "waiting", "Your refund is waiting for approval. A colleague will look at it."),
    ("en", "waiting", "Your refund is waiting for approval. I can't say when it comes through."),
    ("en", "done", "Your refund of $27.00 has been issued. Your bank may take a few days as well."),
    ("en", "done", "Your refund of $27.00 has been issued. It usually shows within 5 days."),
    ("en", "done", "Your refund of $27.00 has been issued. Is there anything else?"),
    ("en", "done", "Your refund of $27.00 has been issued. Thank you as well."),
    ("de", "done", "Ihre Erstattung von 27,00 USD wurde ausgeführt. Kann ich sonst noch helfen?"),
    ("fr", "done", "Votre remboursement de 27,00 USD a été effectué. Bonne journée à vous aussi."),
    ("es", "done", "Su reembolso de 27,00 USD se ha emitido. Que tenga un buen día usted también."),
    ("fr", "done", "Bonjour. Refund done."),
    ("fr", "none", "Bonjour. Thank you for your patience."),
    ("de", "none", "Hallo! Your order number, please?"),
]


@pytest.mark.parametrize("reader", [None, READER], ids=["rules", "both"])
@pytest.mark.parametrize(("language", "facts", "reply"), FALSE)
def test_what_only_the_sentences_together_claim_is_caught(language: str, facts: str, reply: str, reader) -> None:  # type: ignore[no-untyped-def]
    assert not check_reply(reply, language, FACTS[facts], reader).holds


@pytest.mark.parametrize("reader", [None, READER], ids=["rules", "both"])
@pytest.mark.parametrize(("language", "facts", "reply"), TRUE)
def test_true_replies_and_ordinary_answers_still_pass(language: str, facts: str, reply: str, reader) -> None:  # type: ignore[no-untyped-def]
    checked = check_reply(reply, language, FACTS[facts], reader)
    assert checked.holds, [c for c in checked.claims if not c.holds]

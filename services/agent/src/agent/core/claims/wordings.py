"""The fixed sentences of the templated reply, per language, kind and status."""

# (what it is called with its possessive, the ending a participle takes)
NAMES: dict[str, dict[str, tuple[str, str]]] = {
    "en": {
        "refund": ("Your refund", ""),
        "cancel": ("Your cancellation", ""),
        "address_change": ("Your address change", ""),
        "return_label": ("Your return label", ""),
        "account_change": ("The change of your account details", ""),
    },
    "es": {
        "refund": ("Su reembolso", ""),
        "cancel": ("Su cancelación", ""),
        "address_change": ("Su cambio de dirección", ""),
        "return_label": ("Su etiqueta de devolución", ""),
        "account_change": ("El cambio de los datos de su cuenta", ""),
    },
    "fr": {
        "refund": ("Votre remboursement", ""),
        "cancel": ("Votre annulation", "e"),
        "address_change": ("Votre changement d'adresse", ""),
        "return_label": ("Votre étiquette de retour", "e"),
        "account_change": ("La modification de votre compte", "e"),
    },
    "de": {
        "refund": ("Ihre Erstattung", ""),
        "cancel": ("Ihre Stornierung", ""),
        "address_change": ("Ihre Adressänderung", ""),
        "return_label": ("Ihr Rücksendeetikett", ""),
        "account_change": ("Die Änderung Ihrer Kontodaten", ""),
    },
}
STATES: dict[str, dict[str, str]] = {
    "en": {
        "succeeded": "{what} has been completed.",
        "pending": "{what} is still being processed.",
        "awaiting_approval": "{what} is waiting for approval by a colleague.",
        "rejected": "{what} was declined.",
        "failed": "{what} has failed.",
    },
    "es": {
        "succeeded": "{what} se ha completado.",
        "pending": "{what} está todavía en trámite.",
        "awaiting_approval": "{what} está pendiente de aprobación.",
        "rejected": "{what} se ha rechazado.",
        "failed": "{what} ha fallado.",
    },
    "fr": {
        "succeeded": "{what} est terminé{e}.",
        "pending": "{what} est encore en cours de traitement.",
        "awaiting_approval": "{what} est en attente d'approbation.",
        "rejected": "{what} a été refusé{e}.",
        "failed": "{what} a échoué.",
    },
    "de": {
        "succeeded": "{what} ist abgeschlossen.",
        "pending": "{what} ist noch in Bearbeitung.",
        "awaiting_approval": "{what} wartet noch auf Genehmigung.",
        "rejected": "{what} wurde abgelehnt.",
        "failed": "{what} ist fehlgeschlagen.",
    },
}
AMOUNT = {"en": " of {}", "es": " de {}", "fr": " de {}", "de": " über {}"}
ORDER = {
    "en": " for order {}",
    "es": " del pedido {}",
    "fr": " pour la commande {}",
    "de": " zu Bestellung {}",
}
REFERENCE = {"en": " (reference {})", "es": " (referencia {})", "fr": " (référence {})", "de": " (Referenz {})"}
HANDED_OVER = {
    "en": "Your case is now with a colleague.",
    "es": "Su caso está ahora en manos de una persona de nuestro equipo.",
    "fr": "Votre dossier est maintenant entre les mains d'un collègue.",
    "de": "Ihr Fall liegt jetzt bei einer Kollegin oder einem Kollegen.",
}
# The facts are this conversation's; what another one did is not known here.
NOTHING = {
    "en": "Nothing has been refunded, cancelled or changed in this conversation so far.",
    "es": "Hasta ahora no se ha reembolsado, cancelado ni cambiado nada en esta conversación.",
    "fr": "Rien n'a été remboursé, annulé ou modifié dans cette conversation jusqu'ici.",
    "de": "In diesem Gespräch wurde bisher nichts erstattet, storniert oder geändert.",
}
# The ledger could not be read: then neither a deed nor its absence may be spoken of.
UNREAD = {
    "en": "I can't check the state of your request just now.",
    "es": "Ahora mismo no puedo comprobar el estado de su solicitud.",
    "fr": "Je ne peux pas vérifier l'état de votre demande pour le moment.",
    "de": "Ich kann den Stand Ihrer Anfrage gerade nicht prüfen.",
}
OFFER = {
    "en": "If you like, I can pass you to a person.",
    "es": "Si lo desea, puedo pasarle con una persona.",
    "fr": "Si vous le souhaitez, je peux vous passer une personne.",
    "de": "Wenn Sie möchten, kann ich Sie mit einem Menschen verbinden.",
}

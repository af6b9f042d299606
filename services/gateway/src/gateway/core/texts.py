"""What the gateway itself says, in four languages: never an answer, only how to sign in and who answers."""

from typing import Literal

Language = Literal["en", "es", "fr", "de"]
_LANGUAGES: tuple[Language, ...] = ("en", "es", "fr", "de")

AI_DISCLOSURE: dict[Language, str] = {
    "en": "This answer was written by our AI assistant. Reply “person” to reach a human.",
    "es": "Esta respuesta la escribió nuestro asistente de IA. Responda «persona» para hablar con alguien.",
    "fr": "Cette réponse a été rédigée par notre assistant IA. Répondez « une personne » pour parler à quelqu’un.",
    "de": "Diese Antwort hat unser KI-Assistent geschrieben. Antworten Sie „Mensch“, um mit jemandem zu sprechen.",
}
_CODE_SUBJECT: dict[Language, str] = {
    "en": "Your confirmation code",
    "es": "Su código de confirmación",
    "fr": "Votre code de confirmation",
    "de": "Ihr Bestätigungscode",
}
_CODE_TEXT: dict[Language, str] = {
    "en": "Your code is {code}. It is good for {minutes} minutes. Answer in the conversation with the six digits "
    "alone. If you did not write to us, ignore this message and tell nobody the code.",
    "es": "Su código es {code}. Vale durante {minutes} minutos. Responda en la conversación solo con los seis dígitos. "
    "Si usted no nos escribió, ignore este mensaje y no comparta el código.",
    "fr": "Votre code est {code}. Il est valable {minutes} minutes. Répondez dans la conversation avec les six "
    "chiffres seuls. Si vous ne nous avez pas écrit, ignorez ce message et ne donnez le code à personne.",
    "de": "Ihr Code ist {code}. Er gilt {minutes} Minuten. Antworten Sie im Gespräch nur mit den sechs Ziffern. "
    "Wenn Sie uns nicht geschrieben haben, ignorieren Sie diese Nachricht und geben Sie den Code nicht weiter.",
}
# One text for wrong, expired, locked and unknown: the answer tells a guesser nothing.
_CODE_REFUSED: dict[Language, str] = {
    "en": "That code did not work. Check the newest code we sent to the address on file, or write to us again later.",
    "es": "Ese código no funcionó. Revise el código más reciente que enviamos a su dirección registrada, o escríbanos "
    "más tarde.",
    "fr": "Ce code n’a pas fonctionné. Vérifiez le dernier code envoyé à l’adresse enregistrée, ou écrivez-nous "
    "plus tard.",
    "de": "Dieser Code hat nicht funktioniert. Prüfen Sie den neuesten Code, den wir an die hinterlegte Adresse "
    "geschickt haben, oder schreiben Sie uns später noch einmal.",
}
_CODE_ASKED: dict[Language, str] = {
    "en": "Before we look anything up we have to know that it is you: we sent a six-digit code to the address on file. "
    "Please answer here with the code alone.",
    "es": "Antes de consultar nada debemos saber que es usted: enviamos un código de seis dígitos a su dirección "
    "registrada. Responda aquí solo con el código.",
    "fr": "Avant toute recherche, nous devons savoir que c’est vous : un code à six chiffres a été envoyé à l’adresse "
    "enregistrée. Répondez ici avec le code seul.",
    "de": "Bevor wir etwas nachsehen, müssen wir wissen, dass Sie es sind: Wir haben einen sechsstelligen Code an die "
    "hinterlegte Adresse geschickt. Antworten Sie hier nur mit dem Code.",
}
_CODES_USED_UP: dict[Language, str] = {
    "en": "We can't send another code right now. Please write again in an hour, or sign in on our website.",
    "es": "Ahora no podemos enviar otro código. Escríbanos de nuevo en una hora o inicie sesión en nuestra web.",
    "fr": "Nous ne pouvons pas envoyer d’autre code pour le moment. Réécrivez-nous dans une heure ou connectez-vous "
    "sur notre site.",
    "de": "Wir können gerade keinen weiteren Code schicken. Schreiben Sie in einer Stunde noch einmal oder melden Sie "
    "sich auf unserer Website an.",
}

_CHANGED_SUBJECT: dict[Language, str] = {
    "en": "Your account details were changed",
    "es": "Se cambiaron los datos de su cuenta",
    "fr": "Les données de votre compte ont été modifiées",
    "de": "Ihre Kontodaten wurden geändert",
}
_CHANGED_FIELD: dict[Language, dict[Literal["email", "phone"], str]] = {
    "en": {"email": "email address", "phone": "phone number"},
    "es": {"email": "la dirección de correo", "phone": "el número de teléfono"},
    "fr": {"email": "L’adresse e-mail", "phone": "Le numéro de téléphone"},
    "de": {"email": "E-Mail-Adresse", "phone": "Telefonnummer"},
}
# The new value isn't said: an old address may be a stranger's by now.
_CHANGED_TEXT: dict[Language, str] = {
    "en": "The {field} of your customer account with us was changed. If you asked for that, you need not do anything. "
    "If it was not you, write to us through our website at once, so that a person can protect your account.",
    "es": "Se cambió {field} de su cuenta de cliente. Si usted lo pidió, no tiene que hacer nada. Si no fue usted, "
    "escríbanos enseguida desde nuestra web para que una persona proteja su cuenta.",
    "fr": "{field} de votre compte client vient de changer. Si vous l’avez demandé, vous n’avez rien à faire. Si ce "
    "n’était pas vous, écrivez-nous tout de suite depuis notre site, pour qu’une personne protège votre compte.",
    "de": "Die {field} Ihres Kundenkontos bei uns wurde geändert. Wenn Sie das wollten, müssen Sie nichts tun. Wenn "
    "Sie es nicht waren, schreiben Sie uns sofort über unsere Website, damit ein Mensch Ihr Konto schützt.",
}


def language_of(tag: str | None) -> Language:
    """Return the language of a tag such as ``es-MX``; English where we don't speak it."""
    short = (tag or "").lower().replace("_", "-").partition("-")[0]
    return next((language for language in _LANGUAGES if language == short), "en")


def with_disclosure(text: str, author: str, tag: str | None) -> str:
    """Return an answer as it leaves by mail: the customer is told on every channel when an AI wrote it."""
    return f"{text}\n\n— {AI_DISCLOSURE[language_of(tag)]}" if author == "agent" and text else text


def code_mail(code: str, valid_s: int, tag: str | None) -> tuple[str, str]:
    """Return subject and text of the mail that carries a one-time code; the subject shows no digits."""
    language = language_of(tag)
    return _CODE_SUBJECT[language], _CODE_TEXT[language].format(code=code, minutes=max(1, valid_s // 60))


def account_changed(field: Literal["email", "phone"], tag: str | None) -> tuple[str, str]:
    """Return subject and text of what an old address is told."""
    language = language_of(tag)
    return _CHANGED_SUBJECT[language], _CHANGED_TEXT[language].format(field=_CHANGED_FIELD[language][field])


def code_refused(tag: str | None) -> str:
    """What is said to any code that didn't work."""
    return _CODE_REFUSED[language_of(tag)]


def code_asked(tag: str | None) -> str:
    """What is said when a code is on its way."""
    return _CODE_ASKED[language_of(tag)]


def codes_used_up(tag: str | None) -> str:
    """What is said when this hour's codes are used up."""
    return _CODES_USED_UP[language_of(tag)]

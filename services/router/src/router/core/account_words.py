"""Words of everyday account matters in four languages, which the classifier mistakes for break-ins."""

import re

from router.core.words import any_of, fold

_EVERYDAY = re.compile(
    "|".join(
        (
            any_of(r"""
                (?:change|another|new|different) (?:my )?(?:user ?name|display name|nickname|secret question)
                (?:security|secret) question|(?:merge|join|combine) (?:my |the )?(?:\w+ )?accounts|two accounts
                guest order|(?:loyalty|points) card|push notifications|passed away
                (?:first |last |sur)?name (?:is |on my \w+ is )?(?:spelled wrong|misspelled|wrong)
                (?:close|delete|shut) (?:his|her|my|the) (?:\w+ )?account
            """),
            any_of(r"""
                nombre de usuario|cambi\w+ mi usuario|pregunta (?:secreta|de seguridad)|(?:unir|juntad|unid
                fusion\w+) (?:mis|las) (?:\w+ )?cuentas|dos cuentas|pedido de invitado|tarjeta de (?:puntos
                fidelidad)|fallecio|murio mi
                (?:cierren|cerrad|cerrar|eliminen|dad de baja|borrad) (?:su|mi|la) cuenta|avisos de la aplicacion
            """),
            any_of(r"""
                nom d'utilisateur|pseudo|(?:changer|modifier) (?:mon|d')? ?identifiant|question (?:secrete
                de securite)
                (?:fusionn\w+|reuni\w+|regroup\w+) (?:mes|les)(?: \w+)? comptes|deux comptes|commande invite
                (?:associ|ajout|li)\w+ (?:\w+ ){0,2}?carte de (?:points|fidelite)
                est decede|(?:fermez|cloturez|supprimez) (?:son|mon|le) compte
                (?:pre)?nom est mal (?:ecrit|orthographie)|notifications
            """),
            any_of(r"""
                benutzername\w*|anzeigename\w*|sicherheitsfrage\w*|geheimfrage\w*|zwei konten
                beide\w* (?:kunden)?konten
                gastbestellung\w*|punktekarte|verstorben|werbemails?
                (?:vor|nach)name (?:\w+ ){0,3}?falsch|(?:sein|ihr|mein) konto (?:schliessen|loschen|kundigen)
            """),
        )
    )
)


def everyday_account_words(text: str) -> bool:
    """Say whether ``text`` names an everyday matter of an account."""
    return _EVERYDAY.search(fold(text)) is not None

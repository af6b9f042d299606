"""What people say only beside an earlier sentence, in four languages: answers, carried-over deeds, fragments, gifts."""

# ruff: noqa: E501 - a pattern is read as one line

import re
from dataclasses import dataclass
from functools import cached_property

Pattern = re.Pattern[str]


@dataclass(frozen=True, eq=False)
class Talk:
    """One language. Patterns see lower-case text without markup; `yes` to `added` must fit a whole sentence."""

    done: str  # the word that a tick stands for
    nouns: dict[str, str]
    state_question: str
    rule_question: str
    yes: str
    no: str
    carried: str
    approved: str
    foreseen: str
    added: str
    whole: str
    arrived: str
    pronouns: tuple[tuple[str, str], ...]
    restated: tuple[tuple[str, str], ...]
    gift: str
    label: str
    free: str
    free_anyway: str
    as_credit: str

    @cached_property
    def whole_sentence(self) -> dict[str, Pattern]:
        """The ideas that are only meant where they are all that is said."""
        named = ("yes", "no", "carried", "approved", "foreseen", "added", "whole", "arrived")
        return {name: re.compile(f"(?:{getattr(self, name)})") for name in named}

    @cached_property
    def anywhere(self) -> dict[str, Pattern]:
        """The ideas that count wherever they stand."""
        named = ("state_question", "rule_question", "gift", "label", "free", "free_anyway", "as_credit")
        return {name: re.compile(rf"(?<!\w)(?:{getattr(self, name)})(?!\w)") for name in named}

    @cached_property
    def subjects(self) -> tuple[tuple[Pattern, str], ...]:
        """Openings that leave a thing unnamed, and how it reads with `{}` named."""
        return tuple((re.compile(found), put) for found, put in self.pronouns)

    @cached_property
    def statements(self) -> tuple[tuple[Pattern, str], ...]:
        """Questions whose words alone don't read as the statement they ask for."""
        return tuple((re.compile(found, re.IGNORECASE), put) for found, put in self.restated)


ENGLISH = Talk(
    done="done",
    nouns={
        "refund": "your refund",
        "cancel": "your cancellation",
        "address_change": "your address change",
        "return_label": "your return label",
        "account_change": "your account change",
    },
    state_question=r"(?:did|did ?n't|have|has|had|is|is ?n't|are|was|were|will|does) (?:\w+ ?)",
    rule_question=r"possible|allowed|eligible|free|can|could|may|would|should|shall|want|like|need|if|when|returns|refunds|usually|always|policy|costs?|there|are you|do you|how|what|which|why|who|anything|enough",
    yes=r"(?:oh |well,? )?(?:yes|yep|yeah|yup|sure|absolutely|certainly|indeed|exactly|correct|of course|definitely|affirmative|done|right|you bet|totally|it is|it has|it was|it did|it's (?:done|paid|true|so)|(?:we|i|they) (?:did|have|has)|you (?:have|did|were|are)|that's (?:right|so|correct|it)|both|all done|successfully)(?:\W+(?!\W|if|but|once|or|when|unless).*)?",
    no=r"(?:no|nope|not (?:yet|at all|so far)|it (?:is|was|has|did) ?(?:not|n't)(?: yet)?|it (?:is|was|has|did)n't(?: yet)?|(?:we|i) (?:did|have) ?(?:not|n't)(?: yet)?|never)(?:, (?:it|we|i) .*)?",
    carried=r"(?:and |well,? |good news,? |so )?(?:(?:you've|you have|you) (?:already |now |just )?(?:got|received|had|have) (?:it|them|that)(?: (?:already|now|back))?|(?:it|that|this|your wish)(?:'s| is| has)? (?:just |already |now |all )*(?:happened|been put through|been pushed through|been granted|been fulfilled|been done|been made|been sent|gone through|come through|came through|went out|went through|gone out|a done deal|in the bag|out the door|yours)(?: now| already| today)?|it's (?:all )?yours(?: again)?|(?:consider|call) it done|(?:we|i) (?:did|made|sent) (?:it|that|just that)(?: already| today| for you)?|(?:already |just )?happened|granted|wish granted|coming (?:right )?up|there you go|(?:status|state|result|outcome)\W+(?:succeeded|success|done|ok|completed?|paid|true))",
    approved=r"(?:and |good news,? |great news,? |there we go,? )?(?:(?:they|she|he|my colleague|the manager|my manager|the team|it) (?:just |have |has |already |now )*(?:said|says|gave|given|got|nodded) (?:yes|ok(?:ay)?|it the ok(?:ay)?|us the ok(?:ay)?|the ok(?:ay)?|the (?:go-ahead|nod|thumbs up)|the green light|it through)|(?:we (?:have|got) |it's |it is )?(?:a |the )?(?:green light|go-ahead|thumbs up)(?: is here| given| came(?: in)?| received)?|it (?:has |'s )?(?:just |already |now )*(?:came|come|went|gone|got) through|it's a yes|that's a yes|(?:the )?approval (?:is (?:here|in|there)|came in|has come|just came))(?: .{0,20})?",
    foreseen=r".*\b(?:(?:only|just|merely|purely|a mere|really) (?:a )?formality|rubber.stamp\w*|as good as (?:done|approved|yours|in)|will be approved|sure to (?:be approved|pass|say yes)|certain to be approved)\b.*",
    added=r"(?:(?:and |plus |also )?(?:(?:the|your) (?:[\w-]+ ?){1,4}|(?:postage|shipping|delivery|taxes|\w+ (?:costs|fee|fees))),? (?:as well|too|also|likewise)|(?:so|as) (?:was|did|is|has|were|are) (?:the|your) (?:[\w-]+ ?){1,4}|(?:and|plus|also) (?:the|your) (?:[\w-]+ ?){1,3}|same (?:goes )?for (?:the|your) (?:[\w-]+ ?){1,4}|(?:(?:twice|two times|double|three times|thrice)(?:,? (?:actually|in fact|even|over))?)|both of them|all of them)",
    whole=r"(?:so )?(?:you|you've|you have)(?: now| already| just)? (?:got|received|had|have|gotten) (?:it all|everything|all of it|every (?:cent|penny)|all your money|the (?:full|whole) (?:amount|order|price))(?: back)?(?: now)?|everything (?:is|was|has been) (?:refunded|paid back|back)|nothing is (?:left )?(?:outstanding|owed)",
    arrived=r"(?:it|that|the money)(?:'s| is| has| should be)? (?:already |now |just |been )*(?:arrived |landed |showing |there )?(?:on|in|at) your (?:card|account|bank|bank account|statement|paypal|wallet)(?: already| now)?|(?:it|the money)(?:'s| has)? (?:already |now |just )*(?:arrived|landed)|check your (?:card|bank|account)\W+it's there",
    pronouns=(
        (
            r"^(?:and |but |well,? |good news[,:]? )?(?:it|that|this)'s (?=(?:just |already |now )*(?:been|happened|gone|come))",
            "{} has ",
        ),
        (r"^(?:and |but |well,? |good news[,:]? )?(?:it|that|this)'s ", "{} is "),
        (
            r"^(?:and |but |well,? |good news[,:]? )?(?:it|that|this) (?=(?:is|has|was|just|went|came|already|arrived|landed|hit|got)\b)",
            "{} ",
        ),
    ),
    restated=(
        (r"^(?:so |and )?did (?:n't |not )?(we|i|they) (refund|credit|process|escalate)(?=\W)", r"\1 have \2ed"),
        (r"^(?:so |and )?did (?:n't |not )?(we|i|they) (cancel)(?=\W)", r"\1 have \2led"),
        (r"^(?:so |and )?did (?:n't |not )?(we|i|they) (issue|change|update|create|approve)(?=\W)", r"\1 have \2d"),
        (r"^(?:so |and )?did (?:n't |not )?(we|i|they) (?:pay|send|give)(?=\W)", r"\1 have sent"),
        (r"^did (?:you|it) (?:get|receive|come|go|arrive)\b", "you have received"),
        (
            r"^(?:is|was|has) (?:it|that|this)(?: been)? (?:already |now |really )*paid(?: back| out)?\b",
            "your refund has been paid",
        ),
    ),
    gift=r"(?:a|the|your) (?:replacement|new one|spare part|substitute|gift card|voucher)(?: \w+){0,3} (?:is|has been|was|are|will be) (?:\w+ )?(?:on (?:its|the) way|sent|shipped|ordered|booked|arranged|coming|reserved)|(?:i|we)(?:'ve| have)?(?: just| already| also)* (?:left|put|added|sent|passed) (?:a |an? \w+ )?(?:note|message|word|reminder)(?: \w+){0,2} (?:for|to|with|at) (?:the|our) (?:warehouse|driver|courier|carrier|depot|shop|store|kitchen|packers?)|(?:i|we)(?:'ve| have)?(?: just| already| also)* (?:reset|changed|set) (?:your|the) (?:password|pin|passcode)|your (?:password|pin) (?:has been|was|is) (?:reset|changed)|(?:a|the|your) (?:pick-?up|collection|courier|driver) (?:is|has been|was) (?:\w+ )?(?:booked|arranged|scheduled|set|ordered|confirmed|coming)|(?:we|our warehouse|the warehouse)(?:'ve| have| has)?(?: just| already| now)* (?:received|got|checked in|booked in) (?:your|the) (?:return|returned item|returned goods|item back|parcel back|package back)|your return (?:has |was |is |just )*(?:arrived|been received|received|here|reached us|checked in)(?! (?:within|after|by))",
    label=r"(?:here(?:'s| is)|find|attached is|this is) (?:below |attached )?(?:your|the) (?:return |shipping |prepaid )*label",
    free=r"(?:costs? you nothing|(?:is|are) (?:now )?(?:free of charge|free|on us|on the house|a gift)(?: for you| from us)?|at no charge to you)",
    free_anyway=r"returns?|returning|labels?|shipping|deliver\w*|call|calls|service|exchang\w*|cancel\w*|pick-?ups?|collection|trying|this|that|it|there|(?:feel|toll) free|number|hotline|gift (?:wrap\w*|card)|orders?|chang\w*|repair\w*|warranty|store|accounts?|members?|membership|items?|products?",
    as_credit=r"as (?:a )?(?:store credit|shop credit|voucher|gift card|credit note)|(?:in|into|to) (?:the form of )?(?:your )?(?:store credit|shop credit|vouchers?|gift card)",
)
SPANISH = Talk(
    done="hecho",
    nouns={
        "refund": "su reembolso",
        "cancel": "su cancelación",
        "address_change": "su cambio de dirección",
        "return_label": "su etiqueta de devolución",
        "account_change": "su cambio de cuenta",
    },
    state_question=r"(?:se (?:ha|han|le|les|lo|reembols\w+|cancel\w+|aprob\w+|pag\w+|hizo|cambi\w+|emiti\w+)|est[áa]n?|ha|han|he|hemos|fue|fueron|será|ya|le (?:hemos|han))",
    rule_question=r"puedo|puede|pueden|podemos|podr\w+|posible|gratis|gratuit[oa]s?|quiere|quieres|desea|deseas|gustar\w*|si|cuándo|cuánto|cómo|qué|devoluciones|reembolsos|hay|necesit\w+|permit\w+|siempre|algo",
    yes=r"(?:pues |ah,? )?(?:sí|si|claro|claro que sí|por supuesto|así es|en efecto|efectivamente|exacto|exactamente|correcto|desde luego|ya está|lo está|lo hemos hecho|hecho|eso es|ya|ambos)(?:\W+(?!\W|cuando|si|pero|o|una vez|siempre que).*)?",
    no=r"(?:no|aún no|todavía no|no lo está|no lo hemos hecho|nunca|para nada)(?:, (?:no|aún|todavía) .*)?",
    carried=r"(?:y |pues |bien,? )?(?:ya )?(?:lo|la|los|las) (?:tiene|tienes|ha recibido|has recibido|hemos hecho|hice|hicimos|tiene ya)(?: ya)?|(?:ya )?se ha (?:hecho|realizado|tramitado|cumplido|concedido|efectuado)|(?:ya )?(?:ha (?:sucedido|pasado|ocurrido|salido)|es suyo|es tuyo|está en camino|está hecho|salió)|concedido|deseo cumplido|dalo por hecho|delo por hecho|eso está hecho|(?:estado|status|resultado)\W+(?:succeeded|success|hecho|ok|completad[oa]|pagad[oa])",
    approved=r"(?:y |buenas noticias[,:]? )?(?:(?:nos )?(?:han|ha) dicho que sí|dijeron que sí|dijo que sí|(?:ya )?(?:tenemos |hay |nos (?:han|ha) dado (?:la )?)?(?:la )?(?:luz verde|aprobación|autorización|visto bueno)(?: (?:ha llegado|llegó|está aquí|recibida|dada))?|(?:acaba de|ya) (?:llegar|pasar|salir|pasó|salió|llegó)|es un sí)",
    foreseen=r".*\b(?:(?:mera|pura|simple|sólo una|solo una|sólo es una|solo es una) formalidad|puro trámite|mero trámite|(?:es|está) (?:casi|prácticamente) (?:hecho|aprobado)|seguro que (?:lo )?aprueban|será aprobad[oa]|se aprobará)\b.*",
    added=r"(?:y )?(?:el|la|los|las|su) (?:[\w-]+ ?){1,4}(?:,? (?:también|igualmente|tambien))|también (?:el|la|los|las|su) (?:[\w-]+ ?){1,4}|(?:y|más|además) (?:el|la|los|las|su) (?:[\w-]+ ?){1,3}|lo mismo (?:con|para) (?:el|la|los|las) (?:[\w-]+ ?){1,4}|(?:dos|tres) veces(?:,? (?:de hecho|incluso|además))?|incluso dos veces|amb[oa]s|tod[oa]s ell[oa]s",
    whole=r"(?:ya )?(?:lo )?(?:ha|has|tiene|tienes) (?:recuperado|recibido|de vuelta|vuelto a tener)?(?: de vuelta)? ?(?:todo|todo el (?:importe|dinero)|hasta el último (?:céntimo|centavo))(?: de vuelta)?|se le ha devuelto todo|todo (?:está|ha sido) (?:reembolsado|devuelto)",
    arrived=r"(?:(?:ya )?(?:está|lo tiene|ha llegado|llegó|aparece)(?: ya)? (?:en|a) su (?:tarjeta|cuenta|banco|paypal)|ya ha llegado)(?: ya)?",
    pronouns=(
        (r"^(?:y |pero )?(?:ya )?(?=(?:está|se ha|ha|fue|llegó|se)\b)", "{} ya "),
        (r"^(?:este|éste|eso|esto) (?=(?:está|se|ha|fue)\b)", "{} "),
    ),
    restated=((r"^¿?(?:ya )?(?:está|fue|ha sido|se ha) (?:ya )?pagad[oa]\b", "se ha pagado su reembolso"),),
    gift=r"(?:un|una|el|la|su) (?:reemplazo|recambio|sustitut[oa]|repuesto|artículo de sustitución|vale|cupón)(?: \w+){0,3} (?:está|ha sido|va|fue) (?:\w+ )?(?:en camino|de camino|enviad[oa]|pedid[oa]|reservad[oa])|(?:he|hemos|le he|le hemos) (?:dejado|puesto|enviado|pasado) (?:una |un )?(?:nota|mensaje|aviso|recado)(?: \w+){0,2} (?:para el|al|en el|a la|para la|a los) (?:almacén|repartidor|mensajero|transportista|depósito|tienda)|(?:he|hemos) (?:restablecido|cambiado|reseteado|reiniciado) (?:su|tu|la) (?:contraseña|clave|pin)|(?:su|la) contraseña (?:ha sido|se ha|fue) (?:restablecid[oa]|cambiad[oa]|restablecido)|(?:la|una|su) recogida (?:está|ha sido|queda|fue) (?:\w+ )?(?:reservad[oa]|programad[oa]|concertad[oa]|pedid[oa]|confirmad[oa]|agendad[oa])|hemos recibido (?:ya )?(?:su|tu|la) devolución|(?:su|tu) devolución (?:ya )?(?:ha llegado|llegó|se ha recibido|ha sido recibida)",
    label=r"(?:aquí (?:tiene|tienes|está|va)|le adjunto|esta es|adjunta encontrará) (?:su|tu|la) etiqueta",
    free=r"no le cuesta nada|no te cuesta nada|le sale gratis|(?:es|son|está) (?:gratis|gratuit[oa]|un regalo)(?: para (?:usted|ti))|corre de nuestra cuenta|invita la casa",
    free_anyway=r"devoluci\w+|devolver\w*|etiqueta|envíos?|entrega|llamada|servicio|cambi\w*|cancel\w*|recogida|esto|eso|pedidos?|reparaci\w+|garantía|número|cuentas?|soci\w+|miembros?|artículos?|productos?",
    as_credit=r"(?:como|en forma de|en) (?:un )?(?:crédito (?:de|en|para) (?:la )?tienda|vale|cupón|tarjeta regalo|saldo de tienda)",
)
FRENCH = Talk(
    done="fait",
    nouns={
        "refund": "votre remboursement",
        "cancel": "votre annulation",
        "address_change": "votre changement d'adresse",
        "return_label": "votre étiquette de retour",
        "account_change": "votre changement de compte",
    },
    state_question=r"(?:est|sont|était|sera|a|ont|avons|avez|ai)(?:-t)?(?:-(?:il|elle|ce|ils|elles|nous|vous|je|on))?",
    rule_question=r"puis-je|peut|peut-on|peux|pouv\w+|possible|gratuit\w*|voul\w+|souhait\w+|désir\w+|si|quand|combien|comment|quel\w*|retours|remboursements|faut|y a-t-il|éligible|toujours|autre",
    yes=r"(?:eh bien,? |ah,? )?(?:oui|si|bien sûr|tout à fait|absolument|effectivement|en effet|exactement|exact|c'est (?:exact|le cas|ça|fait|cela)|c'est bien le cas|certainement|fait|parfaitement|il l'est|elle l'est|nous l'avons (?:fait|bien fait)|je l'ai fait|d'accord)(?:\W+(?!\W|si|mais|dès|ou|une fois|à condition|sous).*)?",
    no=r"(?:non|pas encore|pas du tout|toujours pas|ce n'est pas (?:encore )?(?:le cas|fait)|jamais|nous ne l'avons pas fait)(?:, (?:ce|il|elle|nous) .*)?",
    carried=r"(?:et |eh bien,? )?(?:vous (?:l'avez|les avez|l'avez (?:déjà|maintenant|reçu|eu)|l'avez déjà reçu)|tu l'as(?: déjà)?|(?:c'est|cela s'est|il s'est) (?:arrivé|passé|produit|parti|accordé|réglé|dans la poche|à vous|chose faite)|il est (?:passé|parti|à vous)|elle est (?:passée|partie|à vous)|(?:c'est|il est|elle est) en route|accordé|vœu exaucé|(?:nous|je) l'(?:avons|ai) (?:fait|effectué|émis|envoyé)|(?:statut|status|état|résultat)\W+(?:succeeded|success|fait|ok|terminé|payé|réussi))",
    approved=r"(?:et |bonne nouvelle[,:]? )?(?:(?:ils|elles|il|elle|on|mon collègue|ma collègue|la responsable|le responsable) (?:ont|a|vient de|nous a|nous ont) (?:dit|dire|répondu) (?:que )?oui|(?:nous avons |on a |c'est )?(?:le )?feu vert(?: (?:obtenu|donné|reçu|est là|est donné))?|(?:l'accord|l'approbation|l'autorisation|la validation) (?:est (?:là|arrivée?|donnée?|tombée?)|vient d'arriver|vient de tomber)|(?:il|elle|ça|cela) vient de passer|c'est (?:un oui|passé|accepté|validé))",
    foreseen=r".*\b(?:(?:n'est (?:plus )?qu'une|simple|pure|juste une) formalité|(?:c'est )?(?:presque|quasiment|pratiquement) (?:fait|accordé|acquis)|sera (?:approuvé|accepté|validé|accordé)e?|à coup sûr accepté)\b.*",
    added=r"(?:et )?(?:le|la|les|l'|votre|vos) ?(?:[\w'-]+ ?){1,4}(?:,? (?:aussi|également|de même))|(?:et|plus|ainsi que) (?:le|la|les|l'|votre|vos) ?(?:[\w'-]+ ?){1,3}|aussi (?:le|la|les) (?:[\w'-]+ ?){1,4}|(?:idem|pareil|de même) pour (?:le|la|les|l'|votre) ?(?:[\w'-]+ ?){1,4}|(?:deux|trois) fois(?:,? (?:même|en fait|d'ailleurs|plutôt))?|(?:tous|toutes) les deux",
    whole=r"(?:vous avez|tu as|vous) (?:déjà )?(?:tout )?(?:récupéré|reçu|eu)(?: (?:tout|la totalité|l'intégralité|jusqu'au dernier centime))?(?: en retour)?|tout (?:est|a été) remboursé|vous avez tout (?:récupéré|reçu|eu)(?: en retour)?",
    arrived=r"(?:il|elle|c'est|l'argent|ça)(?: est)? (?:déjà |maintenant |bien )*(?:arrivée? )?(?:sur|dans|à) votre (?:carte|compte|banque|paypal|compte bancaire)(?: déjà)?|(?:il|l'argent) est (?:déjà |bien )?arrivé",
    pronouns=(
        (r"^(?:et |mais )?(?:il|elle|ça|cela) (?=(?:est|a|vient|s'est)\b)", "{} "),
        (r"^(?:et |mais )?c'est ", "{} est "),
    ),
    restated=((r"^(?:est-ce|c'est|est-il|a-t-il été) (?:déjà |bien )?payé\b", "votre remboursement a été payé"),),
    gift=r"(?:un|une|le|la|votre) (?:(?:article|produit|pièce|appareil) de (?:remplacement|rechange)|remplaçant|remplacement|bon (?:d'|de )achat)(?: \w+){0,3} (?:est|a été|sera) (?:\w+ )?(?:en route|en chemin|envoyée?|commandée?|réservée?|expédiée?)|(?:(?:j'|je )ai|nous avons) (?:laissé|mis|envoyé|ajouté|passé) (?:une |un )?(?:note|mot|message|consigne)(?: \w+){0,2} (?:à l'|à le |à la |au |pour l'|pour le |pour le |aux )(?:entrepôt|livreur|transporteur|dépôt|magasin|coursier)|(?:(?:j'|je )ai|nous avons) (?:réinitialisé|changé|remis à zéro) (?:votre|ton|le) (?:mot de passe|code)|votre mot de passe (?:a été|est) (?:réinitialisé|changé)|(?:un|l'|le|votre|une) ?(?:enlèvement|ramassage|collecte|coursier)(?: \w+){0,1} (?:est|a été) (?:\w+ )?(?:réservée?|programmée?|prévue?|commandée?|confirmée?|planifiée?)|nous avons (?:bien )?reçu (?:votre|ton|le) (?:retour|colis retour)|votre retour (?:est|a été|nous est) (?:bien )?(?:arrivé|reçu|parvenu)",
    label=r"(?:voici|ci-joint|vous trouverez) (?:votre|ton|l'|le|la) ?étiquette",
    free=r"ne vous coûte rien|ne te coûte rien|(?:est|sont) (?:gratuite?s?|offerte?s?) pour vous|vous est offerte?|est un cadeau|(?:c'|ce )est cadeau",
    free_anyway=r"retours?|retourner|étiquette|livraison|envoi|appel|service|échang\w*|annul\w*|enlèvement|cela|ça|ceci|commandes?|réparation|garantie|numéro|changement|comptes?|membres?|articles?|produits?|adhérents?",
    as_credit=r"(?:sous (?:la )?forme (?:d'|de )|en |comme |par )(?:un )?(?:avoir(?! bancaire)|bon (?:d'|de )achat|bon|crédit (?:en )?magasin|carte cadeau)",
)
GERMAN = Talk(
    done="erledigt",
    nouns={
        "refund": "ihre erstattung",
        "cancel": "ihre stornierung",
        "address_change": "ihre adressänderung",
        "return_label": "ihr rücksendeetikett",
        "account_change": "ihre kontoänderung",
    },
    state_question=r"^(?:und |also |nun |ja,? )?(?:wurde|wurden|ist|sind|hat|haben|habe|war|waren|wird|werden|kam)",
    rule_question=r"kann|können|darf|dürfen|möglich|kostenlos|kostenfrei|gratis|möchte\w*|sollen?|soll|will|wollen|wenn|falls|wann|wie|was|welche\w*|rücksendungen|retouren|erstattungen|gibt|muss|müssen|immer|noch (?:etwas|fragen)|erlaubt|sonst",
    yes=r"(?:na |ach,? |oh )?(?:ja|jawohl|jep|klar|natürlich|selbstverständlich|genau|richtig|stimmt|absolut|sicher|allerdings|auf jeden fall|so ist es|ist es|wurde es|hat es|haben wir|habe ich|haben sie|wurden sie|das ist (?:so|der fall|richtig|erledigt)|es ist so|erledigt|gemacht|beides|doch)(?:\W+(?!\W|wenn|aber|sobald|oder|falls|sofern).*)?",
    no=r"(?:nein|nö|noch nicht|bisher nicht|gar nicht|leider nicht|nie|haben wir nicht|ist es nicht|wurde es nicht)(?:, (?:es|sie|das|wir) .*)?",
    carried=r"(?:und |nun,? |also,? )?(?:sie haben (?:sie|es|ihn|das)(?: schon| bereits| jetzt| wieder)?|du hast (?:sie|es|ihn|das)(?: schon| bereits| jetzt| wieder)?|(?:es|das|sie|dies|er) ist (?:schon |bereits |soeben |jetzt |gerade )*(?:passiert|geschehen|raus|durch|durchgegangen|veranlasst|in trockenen tüchern|auf dem weg|unterwegs|ihres|gelaufen)|(?:es|das|sie) (?:ging|kam) (?:gerade |soeben |schon )?(?:durch|raus)|(?:ist )?(?:schon |bereits |soeben )?(?:passiert|geschehen)|gewährt|wunsch erfüllt|gesagt,? getan|(?:das|es) haben wir (?:gemacht|erledigt|getan)|(?:status|ergebnis|stand)\W+(?:succeeded|success|erledigt|ok|abgeschlossen|bezahlt|erfolgreich))",
    approved=r"(?:und |gute nachrichten[,:]? )?(?:(?:man|sie|er|die kollegin|der kollege|die leitung|das team|mein chef) (?:hat|haben) (?:gerade |soeben |schon )?(?:ja gesagt|zugestimmt|genickt|grünes licht gegeben|ihr okay gegeben)|(?:wir haben |es gibt |da ist )?(?:das )?grüne?s? licht(?: ist da| erteilt| erhalten)?|(?:die )?(?:freigabe|genehmigung|zustimmung|das okay|das ok) (?:ist|liegt|kam|wurde) (?:gerade |soeben |schon |jetzt |nun )*(?:da|vor|erteilt|gekommen|eingetroffen)|(?:es|sie|das) (?:ist|ging|kam) (?:gerade |soeben |schon |eben )*(?:durch|durchgekommen|durchgegangen|bewilligt))",
    foreseen=r".*\b(?:(?:nur (?:noch )?eine|reine|bloß eine|pure) formsache|nur (?:noch )?eine formalität|reine formalität|(?:so gut wie|praktisch|quasi) (?:sicher|genehmigt|durch|erledigt|bewilligt)|wird (?:sicher |bestimmt |auf jeden fall )?(?:genehmigt|bewilligt|freigegeben)(?: werden)?)\b.*",
    added=r"(?:und )?(?:der|die|das|ihre?|den) (?:[\w-]+ ?){1,4}(?:,? (?:auch|ebenfalls|ebenso|gleichfalls))|(?:und|plus|samt|auch) (?:der|die|das|den|dem|ihre?) (?:[\w-]+ ?){1,3}|(?:ebenso|genauso|auch) (?:der|die|das|ihre?) (?:[\w-]+ ?){1,4}|(?:gleiches|dasselbe|das gleiche) gilt für (?:den|die|das|ihre?) (?:[\w-]+ ?){1,4}|(?:sogar |und zwar )?(?:zweimal|doppelt|dreimal|gleich zweimal)(?:,? (?:sogar|genau genommen))?|beide|alle beide",
    whole=r"(?:damit )?(?:sie haben|haben sie|du hast) (?:jetzt |nun |schon |damit )*(?:alles|das ganze geld|den vollen betrag|jeden cent) (?:zurück|zurückbekommen|zurückerhalten|wieder|bekommen)|alles (?:ist|wurde) (?:erstattet|zurückgezahlt)|(?:alles|jeder cent) ist wieder bei ihnen",
    arrived=r"(?:sie|es|das geld|er|der betrag)(?: ist)? (?:schon |bereits |jetzt |nun )*(?:auf|in|bei) ihre[rmn]? (?:karte|konto|bank|bankkonto|paypal)(?: angekommen| eingegangen| gelandet)?|(?:sie|das geld|es) ist (?:schon |bereits )*(?:angekommen|eingegangen)",
    pronouns=((r"^(?:und |aber )?(?:sie|es|das|er|dies) (?=(?:ist|wurde|kam|hat|ging|war)\b)", "{} "),),
    restated=(
        (
            r"^(?:ist|wurde|war) (?:es|das) (?:schon |bereits )?(?:aus|zurück|be)gezahlt\b|^(?:ist|wurde) (?:es|das) (?:schon |bereits )?bezahlt\b",
            "ihre erstattung wurde ausgezahlt",
        ),
    ),
    gift=r"(?:ein|eine|der|die|das|ihre?) (?:ersatz|ersatz\w+|neues gerät|neue maschine|gutschein)(?: \w+){0,3} (?:ist|wurde|wird|sind) (?:\w+ ){0,2}(?:unterwegs|auf dem weg|versandt|verschickt|bestellt|veranlasst|reserviert|gebucht)|(?:ich habe|wir haben|habe ich|haben wir)(?: \w+){0,3} (?:lager|fahrer|boten|kurier|zusteller|versand|filiale)(?: \w+){0,2} (?:notiz|nachricht|hinweis|vermerk)(?: \w+){0,2}|(?:ich habe|wir haben|habe ich|haben wir)(?: \w+){0,2} (?:passwort|kennwort|pin)(?: \w+){0,2} (?:zurückgesetzt|geändert|neu gesetzt)|(?:ihr|das) (?:passwort|kennwort) (?:wurde|ist) (?:\w+ )?(?:zurückgesetzt|geändert)|(?:ein|eine|die|der|ihre?) (?:abholung|abholer|kurier|fahrer) (?:ist|wurde|wird|steht)(?: \w+){0,3} (?:gebucht|vereinbart|bestellt|eingeplant|beauftragt|terminiert|angemeldet)|(?:wir haben|haben wir) (?:\w+ )?(?:ihre|die|deine) (?:rücksendung|retoure|rückgabe) (?:\w+ )?(?:erhalten|bekommen|angenommen|verbucht)|(?:ihre|deine) (?:rücksendung|retoure) ist (?:\w+ )?(?:angekommen|eingetroffen|eingegangen|bei uns)",
    label=r"(?:hier ist|hier kommt|anbei|hier haben sie|hier finden sie) (?:ihr|dein|das) (?:\w*etikett|\w*label|retourenschein)",
    free=r"kostet sie nichts|kostet dich nichts|(?:ist|sind) (?:für sie|für dich) (?:kostenlos|gratis|umsonst)|geht auf uns|geht aufs haus|schenken wir ihnen|ist geschenkt",
    free_anyway=r"\w*rücksend\w*|retoure\w*|rückgabe|\w*etikett|label|\w*versand\w*|lieferung|anruf|hotline|service|umtausch\w*|storn\w*|abholung|das|dies|es|bestell\w*|reparatur\w*|garantie|nummer|änderung\w*|\w*konto|mitglied\w*|artikel|produkte?",
    as_credit=r"(?:als|in form eines|in form von|per) (?:einen? )?(?:\w*gutschein\w*|guthaben|ladengutschrift|geschenkkarte|warengutschein)",
)
TALKS: dict[str, Talk] = {"en": ENGLISH, "es": SPANISH, "fr": FRENCH, "de": GERMAN}
# "Use code SORRY20 for 20% off": a voucher is a promise nobody here can keep. An error's code is none.
CODE = re.compile(
    r"(?i:\b(?:code|c[óo]digo|gutscheincode|rabattcode|promo|coupon|cup[óo]n|voucher|gutschein)\b)\W{1,3}(?:(?i:is|es|est|lautet)\W+)?\W?"
    r"(?=[A-Z0-9-]{4,})(?=[A-Z0-9-]*[A-Z])[A-Z0-9-]+\b"
)
BARGAIN = re.compile(
    r"%|\b(?:off|discount|promo|coupon|voucher|checkout|next (?:order|purchase)|descuento|cup[óo]n|vale|pr[óo]xim[ao]|r[ée]duction|remise|prochaine?|bon|"
    r"rabatt\w*|gutschein\w*|nachlass|n[äa]chste\w*)\b",
    re.IGNORECASE,
)
TICK = re.compile(r"[✔✅☑✓🗸👍]\ufe0f?|\[[xX]\]")

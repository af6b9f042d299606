"""Words of law, account safety and harm in four languages: what they name goes to a person.

The patterns avoid the harmless twins: *avocat* the fruit, *Gericht* the dish, *Anzeige* the display, the Fire tablet.
"""

import re

from router.core.words import any_of, fold

_LEGAL = (
    any_of(r"""
        lawyers?|attorneys?|solicitors?|barrister|lawsuit|legal (?:action|proceedings|department|advice|steps|counsel)
        (?:sue|suing) (?:you|u|your|this|the company)|(?:going|gonna|gona|have) to sue|(?:take|taking
        see) you (?:all )?(?:to|in) court
        small claims|trading standards|ombudsman|gdpr|subject access|data protection (?:officer|authority|act)
        police report|breach of contract|class action|cease and desist|consumer (?:rights act|protection|law
        authority)
        (?:claim|claiming|seek|seeking) damages|attorney general|better business bureau|press charges
        statutory rights?
        (?:against the law|illegal|unlawful) (?:and|to|what you)|court (?:file|order|case)|copyright|trademark
        who(?:'s| is) liable|defam\w+|slander\w*|(?:see|meet) (?:you|each other|u) in court|file suit
        (?:goes|take (?:it|this)) to (?:a judge|court)
        legally (?:obliged|required)|the tribunal|consumer association
    """),
    any_of(r"""
        abogad[oa]s?|letrad[oa]|demandar(?:os|les|los)?|(?:os|les) demando|denunciar(?:os|les|los|lo|e)?|querella
        denuncia (?:en|a|ante|contra|por|puesta)|(?<!calle del )tribunal(?:es)?|juzgados?|acciones legales
        via judicial|rgpd
        proteccion de datos|burofax|incumplimiento (?:de|del) contrato|omic|oficina del consumidor
        hojas? de reclamacion(?:es)?|arbitraje de consumo|danos y perjuicios|demanda (?:judicial|colectiva)
        ir a juicio|ire a juicio
        ley de consumidores|propiedad intelectual|derecho de supresion
        difama\w+|calumni\w+|(?:el|un|al) juez|quien responde (?:de|por) (?:los|el) danos?
        la ley (?:os|les|le) obliga|asociacion de consumidores|asesor juridico
    """),
    r"(?<!d')(?<!d' )(?<!-)\b(?:mon|notre|un|nos|des|son) avocats?\b",
    any_of(r"""
        avocate|(?<!rue du )tribuna(?:l|ux)|mise en demeure|mets en demeure|rgpd|cnil|dgccrf
        repression des fraudes|signalconso
        port(?:e|er|rai|erai|é) plainte|porte plainte|depose(?:r|rai)? (?:une )?plainte
        plainte (?:a la police|contre|au commissariat|penale)|poursuites? (?:judiciaires?|en justice)|en justice
        action (?:collective|judiciaire)|mediateur|huissier|dommages et interets|dommages-interets|service juridique
        protection juridique|rupture de contrat|code de la consommation|devant (?:un|le) juge|procureur|contrefacon
        diffamation
        diffamat\w+|qui est responsable (?:des|du) (?:degats|dommages?)|assignation
        la loi vous oblige|association de consommateurs|conseil juridique|les juges
    """),
    any_of(r"""
        (?:rechts)?anwalt\w*|anwaltin|rechtsanwaltin|juristin|verklag\w+|klage (?:ein|gegen|erheb|wegen|vor)\w*
        (?:vor|ans|beim|furs) gericht|amtsgericht|gerichtlich\w*|strafanzeige|anzeige (?:erstatt|wegen|bei|gegen
        ist raus)\w*
        verbraucher(?:zentrale|schutz\w*)|dsgvo|mahnbescheid|abmahnung|rechtliche\w* (?:schritte|mittel|konsequenzen)
        rechtsweg|rechtsabteilung|rechtsschutz\w*|rechtswidrig|schadens?ersatz|vertragsbruch|schlichtungsstelle
        sammelklage
        datenschutzbeauftragte\w*|datenschutzbehorde|aufsichtsbehorde|gesetzliche\w* (?:gewahrleistung
        widerrufsrecht)|strafbar
        wer haftet|verleumd\w+|rufschadigung|bgb|klageschrift
        gesetzlich verpflichtet|verbraucherverband|rechtsbeistand|(?:vor dem|ein) richter
    """),
)
_SECURITY = (
    any_of(r"""
        hacked|phishing|identity theft|account (?:takeover|was compromised|has been compromised|got compromised)
        (?:someone|somebody|stranger)(?: else)? (?:\w+ ){0,3}?(?:into|in|on|using|accessed) my (?:account|login
        profile|card)
        (?:forgot|forgotten|lost|reset|recover|remember)\w* (?:\w+ ){0,2}?(?:password|pwd|pass ?code|login)
        (?:password|pwd) (?:reset|recovery)|locked out|suspicious (?:login|activity|sign.?in)|unknown (?:login|device)
        stolen (?:phone|card|wallet|account)|(?:phone|wallet|purse|card) (?:was|got|has been|is) stolen|fraudulent
        (?:report|reporting|commit\w*) (?:\w+ ){0,3}?fraud|(?:lost|stole) my (?:phone|wallet|card|purse)
        account (?:is |was |got |has been )?(?:blocked|frozen|locked)
        (?:two|2).?(?:factor|step) (?:login|authentication|verification|sign.?in)
        (?:real|genuine|from you) or (?:a |is it a )?(?:scam|fake|fraud)
        (?:somebody|someone|stranger) (?:\w+ ){0,3}?(?:in|under) my name
        (?:see|seeing) (?:\w+ ){0,2}?(?:other|another|someone else|stranger)\S* (?:\w+ ){0,2}?(?:orders?|data|details)
        (?:suspicious|questionable|strange|odd|weird) activity|(?:freeze|block) my (?:card|account)|compromised
        (?:verification|login|security) code (?:never|doesn't|does not|isn't|hasn't|didn't)
        account (?:\w+ )?restricted|points (?:\w+ ){0,3}?(?:stolen|stole)|claim\w* to be from (?:you|your)
        (?:wants|asked for|asks for) my (?:\w+ )?code|(?:second|2nd) (?:login )?(?:factor|step)|(?:orders
        purchases) (?:\w+ ){0,4}?i (?:never|did not|didn't)
        hello \w+,? i'?m not|greets (?:me as )?somebody else
    """),
    any_of(r"""
        hacke\w+|suplant\w+|contrasena (?:\w+ ){0,2}?(?:olvidad\w+|perdid\w+)
        (?:olvid|recuper|restablec|recuerdo)\w* (?:\w+ ){0,2}?(?:contrasena|clave|pin)
        (?:entrado|accedido|entro|metido) (?:\w+ ){0,2}?(?:en|a) mi cuenta|cuenta (?:hackeada|bloqueada|robada)
        acceso no autorizado|(?:robaron|robado|perdi|perdido) (?:\w+ ){0,2}?(?:movil|tarjeta|cartera|telefono|bolso)
        jakead\w+|jaquead\w+|(?:en|de) dos pasos(?! de)|doble factor|o (?:es )?una estafa|hace pasar por vosotros
        (?:actividad|acceso) sospechos[oa]|ve[or] (?:los )?(?:pedidos|datos) de otr[oa]|(?:bloque
        congel)\w+ mi tarjeta
        codigo (?:de verificacion|para entrar|de acceso) no|no me llega el codigo de (?:verificacion|acceso)
        limitado (?:la|mi) cuenta|(?:robado|gastado|robo) (?:\w+ ){0,2}?puntos|tarjeta (?:\w+ ){0,3}?comprometida
        (?:pide|pidio|quiere) mi codigo|segundo (?:paso|factor)|(?:pedidos|compras) (?:mias )?que (?:yo )?(?:no
        nunca) (?:he hecho|hice)
        a mi nombre por otra|saluda a otra
    """),
    any_of(r"""
        (?:compte|boite|profil) (?:\w+ ){0,3}?pirat\w+|pirat\w+ mon compte|hame[cs]onnage|usurp\w+
        mot de passe (?:\w+ ){0,2}?(?:oublie|perdu)|connexion (?:suspecte|inconnue)|compte (?:bloque|verrouille)
        (?:oublie|perdu|reinitialis\w+|retrouver|souviens plus de) (?:\w+ ){0,2}?mot de passe
        (?:vole|perdu) (?:\w+ ){0,2}?(?:telephone|carte bancaire|portefeuille)|(?:telephone
        carte(?: bancaire)?) (?:vole|perdu)e?
        double authentification|(?:validation|verification|connexion) en deux etapes
        ou (?:c'est )?une arnaque|se fait passer pour (?:vous|votre)
        (?:activite|connexion) (?:suspecte|inhabituelle)|vois les (?:commandes|donnees) d'une? autre
        (?:bloqu|gel)e[rz]? ma carte|carte (?:\w+ ){0,2}?compromise|faux conseiller|soi-disant conseiller
        compte (?:\S+ )?(?:restreint|limite)|vole (?:\w+ ){0,2}?points|code de (?:connexion|verification) n'
        (?:veut|demande) mon code|(?:second|deuxieme|double) (?:facteur|etape)|(?:commandes|achats) que je n'ai pas
        a mon nom sans|salue quelqu'un d'autre|carte est (?:\S+ )?compromise|signaler une fraude
    """),
    any_of(r"""
        gehackt|hackerangriff|phishing\w*|identitatsdiebstahl|passwort (?:\w+ ){0,3}?(?:vergess\w+|zurucksetz\w+
        verloren)
        (?:vergess\w+|zurucksetz\w+) (?:\w+ ){0,2}?(?:passwort|kennwort)|konto (?:\w+ ){0,2}?(?:geknackt|ubernommen
        gesperrt)
        fremde\w* (?:zugriff|login|anmeldung|gerat)|unbefugte\w*|(?:handy|karte|geldborse
        portemonnaie) (?:\w+ )?(?:gestohlen|geklaut)
        zwei-?faktor\S*|echt oder (?:\w+ )?(?:betrug|fake|gefalscht)|gibt sich (?:\w+ ){0,3}?als eue?r
        jemand (?:\w+ ){0,3}?(?:auf|in) meine[mn] namen|auf meinen namen wird
        verdachtige\w* (?:aktivitat|anmeldung)\w*|anmeldewarnung|kompromittiert|kartenverlust|karte einfrieren
        sperr(?:t|en sie)? meine (?:bank)?karte|sehe (?:die )?(?:bestellungen|daten) eine[rs] anderen
        konto (?:\w+ ){0,2}?eingeschrankt|angebliche\w* mitarbeiter\w*
        will meinen (?:\w+ )?code|(?:zwei|zweite\w*) (?:schritt\w*|faktor)|(?:kaufe
        bestellungen),? die (?:ich nicht|nicht von mir)
        fremder name|begrusst (?:\S+ ){0,3}?(?:jemand|als)|profilpasswort|rucksetzlink
    """),
)
_SAFETY = (
    any_of(r"""
        electric(?:al)? shock|electrocut\w+|(?:caught|catch\w*|on) fire(?! (?:tablet|tv|stick))|(?:in|into) flames
        (?:started|began|starts|is|was) smok(?:e|ing)|smoke (?:coming|came|comes|pouring)|burning smell
        smells? (?:of|like) burning
        exploded|explodes|blew up|blown up|burn(?:ed|t) (?:my|his|her|me|our|the (?:kid|baby|child)|myself)
        chok(?:ed|ing)|swallowed|allergic reaction|anaphyla\w+|broke out in|hives|blisters|(?:in|to
        into) (?:the )?(?:hospital|er|emergency room|a&e)
        injur(?:ed|y|ies)|food poisoning|poison(?:ed|ing)|gas leak|leaks? gas|leaking gas|smell of gas|carbon monoxide
        suicid\w+|kill myself|want to die|(?:don't|dont) want to live|(?:ending|end) it all|swollen battery|bleeding
        glass in (?:my|the|our)|got (?:a |an )?(?:\w+ )?shock|sparks|hurt my|cut (?:my|his|her) (?:hand|finger|foot
        leg)|stitches
        product recall|been recalled|safety recall|melted
        (?:harm|hurt|hurting|harming) myself|nobody would miss me|better off without me|no point in living
        (?:i'll|i will|gonna|going to) (?:hurt|hit|kill|beat) (?:him|her|you|them|your)
        had to (?:see|go to) (?:a|the|my) (?:doctor|gp)|recall list
        break (?:his|her|your) (?:nose|neck|face|legs)|burn (?:your|the) (?:shop|store|place)|passed out|threw up
        is (?:it|this|that) dangerous|(?:fell|tipped)(?: over)? on(?:to)? (?:my|me)
    """),
    any_of(r"""
        descarga electrica|calambrazo|dio calambre|electrocut\w+|incendi\w+|se prendio|prendio fuego|en llamas
        ech(?:a|o|aba|ando) (?:humo|chispas)|sal(?:e|en|io|ia) (?:humo|chispas)|explot\w+|estallo|huele a quemado
        quemaduras?|me queme
        se quemo|ampollas|atragant\w+|asfixi\w+|tragado|reaccion alergica|alergia|sarpullido|urticaria|(?:en
        a) urgencias|hospital\w*
        herid[oa]s?|intoxic\w+|envenen\w+|vomit\w+|(?:fuga de|pierde|huele a|olor a) gas|suicid\w+|quitarme la vida
        no quiero (?:seguir viviendo|vivir)|chispas|me corte|puntos de sutura|hecho dano|retirad\w+ del mercado
        se ha derretido|monoxido
        hacerme dano|(?:lo|la|os|le|te) mato|quitarme de en medio|echaria de menos|mejor sin mi
        tuve que ir al medico|lista de retirada
        me lesione|(?:hizo|hecho) un corte|part\w+ la cara|es peligroso|me desmaye
        (?:bateria|bombona|pila) (?:\w+ ){0,2}?(?:hinchad|abombad)a|encima de mi (?:hij|bebe|nin)\w*
    """),
    any_of(r"""
        decharge electrique|electrocut\w+|electrise\w*|(?:pris|prend|prenait) feu|incendie|en flammes
        (?<!detecteur de )(?<!detecteurs de )fumee
        a explose|explose
        ca fume|odeur de brule|brulures?|(?:suis|est|s'est|me suis) (?:\w+ )?brule\w*|etouff\w+|avale une?
        reaction allergique|urticaire
        aux urgences|hopital|hospitalise\w*|blesse(?:e|s|es)?|blessures?|intoxi\w+|empoisonn\w+|(?:fuite
        odeur) de gaz|suicid\w+
        en finir avec (?:la|ma) vie|envie de mourir|etincelles|me suis coupe|points de suture|cloques|plaques rouges
        rappel (?:de securite|produit)|a fondu|mal a respirer|vomi\w*
        me faire du mal|mieux sans moi|casse la (?:figure|gueule)|je (?:le|la|vous) frappe
        du (?:consulter|voir) un medecin|objet d'un rappel|concernee? par un rappel
        m'a (?:entaille|brule|blesse)|lame (?:\S+ ){0,4}coupe|(?:suis|est) fait mal|est-ce dangereux|c'est dangereux
        (?:me suis|s'est) evanouie?|tombee? sur (?:mon|ma|mes) (?:fils|fille|enfant|bebe|pied)
        eclats? de verre dans (?:vos|votre)
    """),
    any_of(r"""
        stromschlag|stromstoss|feuer gefangen|in flammen|(?:zimmer|wohnungs)?brand(?:gefahr|geruch|stelle)
        riecht verbrannt
        angefangen zu (?:brennen|qualmen|rauchen)|fing an zu (?:brennen|qualmen)|qualm\w*|geraucht|explodier\w+
        explosion|geplatzt
        verbrannt|verbrennung\w*|verbruht|erstick\w+|verschluckt|allergische reaktion|allergisch|hautausschlag
        ausschlag
        krankenhaus|notaufnahme|notarzt|verletzt|verletzung\w*|vergift\w+|ubergeben mussen|gasgeruch|gasleck
        gas (?:tritt|stromt) aus
        suizid\w*|mich umbringen|nicht mehr leben|aufgeblaht\w*|funken|geschnitten|genaht|blasen auf der haut|atemnot
        ruckruf (?:fur|wegen|des|der)|produktruckruf|geschmolzen
        mir (?:et)?was an(?:zu)?tun|mir wehtun|ohne mich (?:waren|ware)
        (?:schlag|hau)\w* (?:\w+ ){0,3}?(?:zusammen|eine rein)|musste (?:\w+ ){0,4}?zum (?:haus)?arzt
        ist das gefahrlich|stromschlack|zund\w* euch
        auf mein\w* (?:sohn|tochter|kind|fuss) (?:gekippt|gefallen|gesturzt)
    """),
)
_TOPICS = {
    "legal": re.compile("|".join(_LEGAL)),
    "account_security": re.compile("|".join(_SECURITY)),
    "safety": re.compile("|".join(_SAFETY)),
}


def sensitive_words(text: str) -> tuple[str, ...]:
    """Return the sensitive topics whose words stand in ``text``, in the order legal, account_security, safety."""
    words = fold(text)
    return tuple(topic for topic, pattern in _TOPICS.items() if pattern.search(words))

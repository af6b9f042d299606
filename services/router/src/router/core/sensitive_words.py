"""Words of law, account safety and bodily harm in four languages: what they name goes to a person however unsure the classifier is.

The patterns avoid the harmless twins: *avocat* the fruit, *Gericht* the dish, *Anzeige* the display, the Fire tablet.
"""

import re

from router.core.words import fold

_LEGAL = (
    r"\b(?:lawyers?|attorneys?|solicitors?|barrister|lawsuit|legal (?:action|proceedings|department|team|advice|steps|counsel)|"
    r"(?:sue|suing) (?:you|your|this|the company)|(?:take|taking|see) you (?:all )?(?:to|in) court|small claims|trading standards|"
    r"ombudsman|gdpr|subject access|data protection (?:officer|authority|act)|police report|breach of contract|class action|"
    r"cease and desist|consumer (?:rights act|protection)|claim(?:ing)? damages|attorney general|better business bureau)\b",
    r"\b(?:abogad[oa]s?|demandar(?:os|les|los)?|os demando|les demando|denunciar(?:os|les|los|e)?|denuncia (?:en|a|ante|contra|por|puesta)|"
    r"tribunal(?:es)?|juzgados?|acciones legales|via judicial|rgpd|proteccion de datos|burofax|incumplimiento (?:de|del) contrato|"
    r"omic|oficina del consumidor|hoja(?:s)? de reclamacion(?:es)?|arbitraje de consumo|danos y perjuicios|demanda (?:judicial|colectiva))\b",
    r"(?<!d')(?<!d' )(?<!-)\b(?:mon|notre|un|nos|des|son) avocats?\b",
    r"\b(?:avocate|tribuna(?:l|ux)|mise en demeure|mets en demeure|rgpd|cnil|dgccrf|repression des fraudes|ufc|porte(?:r|rai)? plainte|"
    r"depose(?:r|rai)? (?:une )?plainte|plainte (?:a la police|contre|au commissariat|penale)|poursuites? (?:judiciaires?|en justice)|"
    r"en justice|action (?:collective|judiciaire)|mediateur|huissier|dommages et interets|dommages-interets|service juridique|rupture de contrat)\b",
    r"\b(?:(?:rechts)?anwalt\w*|anwaltin|rechtsanwaltin|verklag\w+|klage (?:ein|gegen|erheb|wegen|vor)\w*|(?:vor|ans|beim) gericht|amtsgericht|"
    r"gerichtlich\w*|strafanzeige|anzeige (?:erstatt|wegen|bei|gegen|ist raus)\w*|verbraucher(?:zentrale|schutz\w*)|dsgvo|mahnbescheid|abmahnung|"
    r"rechtliche\w* (?:schritte|mittel|konsequenzen)|rechtsweg|rechtsabteilung|schadens?ersatz|vertragsbruch|schlichtungsstelle|sammelklage|datenschutzbeauftragte\w*)\b",
)
_SECURITY = (
    r"\b(?:(?:been |got |was |is )?hacked|phishing|identity theft|account (?:takeover|was compromised|has been compromised|got compromised)|"
    r"(?:someone|somebody|stranger)(?: else)? (?:\w+ ){0,3}?(?:into|in|on|using|accessed) my (?:account|login|profile)|"
    r"(?:forgot|forgotten|lost|reset|recover|remember)\w* (?:\w+ ){0,2}?(?:password|pass ?code|login)|password (?:reset|recovery)|"
    r"locked out|suspicious (?:login|activity|sign.?in)|unknown (?:login|device)|stolen (?:phone|card|wallet|account))\b",
    r"\b(?:hacke\w+|suplant\w+|contrasena (?:\w+ ){0,2}?(?:olvidad\w+|perdid\w+)|(?:olvid|recuper|restablec|recuerdo|cambiar)\w* (?:\w+ ){0,2}?(?:contrasena|clave)|"
    r"(?:entrado|accedido|entro|metido) (?:\w+ ){0,2}?(?:en|a) mi cuenta|cuenta (?:hackeada|bloqueada|robada)|acceso no autorizado)\b",
    r"\b(?:(?:compte|boite|profil) (?:\w+ ){0,3}?pirat\w+|pirat\w+ mon compte|hame[cs]onnage|usurp\w+|mot de passe (?:\w+ ){0,2}?(?:oublie|perdu)|"
    r"(?:oublie|perdu|reinitialis\w+|retrouver|souviens plus de) (?:\w+ ){0,2}?mot de passe|connexion (?:suspecte|inconnue)|compte (?:bloque|verrouille))\b",
    r"\b(?:gehackt|hackerangriff|phishing\w*|identitatsdiebstahl|passwort (?:\w+ ){0,3}?(?:vergess\w+|zurucksetz\w+|verloren)|(?:vergess\w+|zurucksetz\w+) (?:\w+ ){0,2}?(?:passwort|kennwort)|"
    r"konto (?:\w+ ){0,2}?(?:geknackt|ubernommen|gesperrt)|fremde\w* (?:zugriff|login|anmeldung|gerat)|unbefugte\w*)\b",
)
_SAFETY = (
    r"\b(?:electric(?:al)? shock|electrocut\w+|(?:caught|catch\w*|on) fire|(?:in|into) flames|(?:started|began|starts|is|was) smok(?:e|ing)|smoke (?:coming|came|comes|pouring)|"
    r"explod\w+|blew up|blown up|burn(?:ed|t|s) (?:my|his|her|me|our|the (?:kid|baby|child)|myself)|chok(?:ed|ing)|swallowed|allergic reaction|anaphyla\w+|"
    r"(?:in|to|into) (?:the )?(?:hospital|er|emergency room|a&e)|injur(?:ed|y|ies)|poison(?:ed|ing)|gas leak|leaks? gas|smell of gas|carbon monoxide|"
    r"suicid\w+|kill myself|want to die|(?:don't|dont) want to live|swollen battery|bleeding|glass in (?:my|the|our))\b",
    r"\b(?:descarga electrica|calambrazo|electrocut\w+|incendi\w+|se prendio|prendio fuego|en llamas|ech(?:a|o|aba|ando) humo|sal(?:e|io|ia) humo|explot\w+|estall\w+|"
    r"quemaduras?|me queme|se quemo|atragant\w+|asfixi\w+|reaccion alergica|sarpullido|urticaria|(?:en|a) urgencias|hospital\w*|herid[oa]s?|intoxic\w+|envenen\w+|"
    r"(?:fuga de|pierde|huele a|olor a) gas|suicid\w+|quitarme la vida|no quiero (?:seguir viviendo|vivir)|chispas)\b",
    r"\b(?:decharge electrique|electrocut\w+|electrise\w*|(?:pris|prend|prenait) feu|incendie|en flammes|fum(?:e|ait) (?:beaucoup|encore|quand)|de la fumee|explos\w+|a explose|"
    r"brulures?|(?:suis|est|s'est) (?:\w+ )?brule\w*|etouff\w+|reaction allergique|urticaire|aux urgences|hopital|hospitalise\w*|blesse(?:e|s|es)?|blessures?|intoxi\w+|empoisonn\w+|"
    r"(?:fuite|odeur) de gaz|suicid\w+|en finir avec (?:la|ma) vie|etincelles)\b",
    r"\b(?:stromschlag|stromstoss|feuer gefangen|in flammen|(?:zimmer|wohnungs)?brand(?:gefahr|geruch|stelle)|angefangen zu (?:brennen|qualmen|rauchen)|qualm\w*|explodier\w+|explosion|"
    r"verbrannt|verbrennung\w*|verbruht|erstick\w+|verschluckt|allergische reaktion|allergisch reagiert|hautausschlag|krankenhaus|notaufnahme|notarzt|verletzt|verletzung\w*|vergift\w+|"
    r"gasgeruch|gasleck|gas (?:tritt|stromt) aus|suizid\w*|mich umbringen|nicht mehr leben|aufgeblaht\w*|funken)\b",
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

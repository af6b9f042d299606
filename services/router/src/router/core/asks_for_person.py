"""Recognises, by words in four languages, a customer who asks for a person (promise 3).

A classifier alone would miss some; these rules see only the ways people really ask, so that "in person", "personal"
or "the agent told me" start nothing.
"""

import re

from router.core.words import fold

_GAP = r"[^.!?]{0,40}?"

_EN_WHO = (
    r"(?<!in )(?:human(?: being)?|(?:real |actual |live )?person|agent|representative|rep|operator|supervisor|manager|"
    r"someone|somebody|anyone|anybody|advis[eo]r|staff|employee|colleague|customer (?:service|support|care)|"
    r"support team|team leader)\b"
)
_EN = (
    rf"\b(?:talk|speak|chat|connect(?: me)?|transfer(?: me)?|put me|pass me|hand me|escalate)\b (?:\w+ ){{0,4}}?{_EN_WHO}",
    r"\b(?:want|need|get me|give me|prefer|i'd like|like) (?:to have )?(?:a |an |some )?(?:real |actual |live )?"
    r"(?:human|live agent|human agent|real person|actual person|representative|customer service rep)\b",
    r"\b(?:real|actual|live) (?:person|human|agent)\b(?=.{0,25}(?:please|pls|help me|now))",
    r"\b(?:not|don't|dont|no|stop|sick of|instead of|rather than)\b.{0,25}\b(?:talk|speak|chat|deal)\w*\b.{0,25}\b(?:bot|robot|machine|chatbot|ai)\b",
    r"\b(?:call|ring|phone) me(?: back)?\b(?! when| if it)",
    r"\b(?:call me back|callback|call back please|(?:have|get|ask) (?:someone|somebody|a colleague) (?:to )?(?:call|ring|phone|contact))\b",
    r"\bput (?:a|an|your) (?:human|person|manager|supervisor|agent) on\b",
)
_ES_WHO = (
    r"(?<!en )(?:persona|humano|agente|asesora?|operador\w*|alguien|encargad[oa]|supervisora?|responsable|"
    r"emplead[oa]|gerente|jef[ea]|companer[oa]|representante|atencion al cliente|servicio al cliente)\b"
)
_ES = (
    rf"\b(?:hablar(?:lo)?|chatear|comunic\w+|contactar|pas[ea]\w*|pong\w+|conect\w+|transfi?er\w+|atiend\w+|deriv\w+)\b (?:\w+ ){{0,4}}?{_ES_WHO}",
    r"\b(?:quiero|necesito|prefiero|exijo|dame|quisiera) (?:a )?(?:un |una )?(?:persona real|persona de verdad|humano|ser humano|agente humano|agente|asesor|operador)\b",
    r"\b(?:no|deja de)\b.{0,25}\b(?:hablar|chatear|tratar)\b.{0,20}\b(?:robot|bot|maquina|contestador)\b",
    r"\b(?:llamadme|llamenme|llameme|me (?:puede|podeis|pueden|podrian) llamar|que me llam\w+|me llame (?:alguien|un))\b",
    r"\bpersona (?:real|de verdad|de carne y hueso)\b",
    r"\b(?:conteste|atienda|atendiera|responda) alguien\b",
)
_FR_WHO = (
    r"(?<!en )(?:quelqu'?un|humain|(?:une |vraie )personne|conseill\w+|agent|operat\w+|responsable|superieur|"
    r"superviseur|service client\w*|interlocuteur|employe|gestionnaire|collegue|teleconseill\w+)\b"
)
_FR = (
    rf"\b(?:parl(?:er|e)|echanger|discuter|pass(?:e|ez|er)(?:-moi)?|transfer\w+(?:-moi)?|en relation|joindre|contacter|avoir)\b (?:[\w']+ ){{0,4}}?{_FR_WHO}",
    r"\b(?:veux|voudrais|besoin d'|exige|demande|prefere|donnez-moi) ?(?:un |une |d'un )?(?:vrai |vraie )?(?:humain|etre humain|conseiller|operateur|vraie personne|agent)\b",
    r"\b(?:pas|plus|marre|assez)\b.{0,25}\b(?:parl|discut|echang)\w+\b.{0,20}\b(?:robot|bot|machine|ia)\b",
    r"\b(?:rappelez[- ]moi|rappelle[- ]moi|(?:me|etre|nous) rappele[rsz]?|appelez[- ]moi)\b",
    r"\bvrai(?:e)? (?:humain|personne|conseiller|etre humain)\b",
)
_DE_WHO = (
    r"(?:mensch\w*|mitarbeit\w*|(?:richtige\w*|echte\w*|reale\w*) person|berater\w*|jemand\w*|vorgesetzt\w*|chef\w*|"
    r"teamleit\w*|kolleg\w*|kundenservice|kundendienst|kundenbetreuer\w*|sachbearbeiter\w*|ansprechpartner\w*)\b"
)
_DE_HOW = r"(?:sprechen|reden|verbind\w+|telefonier\w+|weiter\w*leiten|durchstell\w+|chatten|schreiben|unterhalten)\b"
_DE = (
    rf"\bmit (?:\w+ ){{0,4}}?{_DE_WHO}{_GAP}\b{_DE_HOW}",
    rf"\b{_DE_HOW} (?:\w+ ){{0,5}}?(?:mit|an|zu) (?:\w+ ){{0,3}}?{_DE_WHO}",
    r"\b(?:will|mochte|brauche|verlange|gib mir|geben sie mir|bitte) (?:\w+ ){0,2}?(?:echte\w* |richtige\w* )?(?:mensch\w*|mitarbeiter\w*|vorgesetzten|teamleiter)\b(?! (?:hat|haben|sagte|war))",
    r"\b(?:nicht|kein\w*|keine lust)\b.{0,25}\b(?:bot|roboter|maschine|ki|computer)\b.{0,20}\b(?:sprechen|reden|schreiben|chatten)\b",
    r"\b(?:ruf(?:en|t)? (?:sie )?mich|mich (?:bitte )?(?:zuruck|an)?ruf\w+|ruckruf)\b",
    r"\b(?:echte\w*|richtige\w*) (?:mensch\w*|person)\b",
    r"\bverbind\w+ (?:sie )?mich\b",
)
_ALONE = (
    r"(?:(?:a |an |real |live |human |un |una |une |ein |einen |bitte |vrai |echter? |echten )*"
    r"(?:human|person|agent|representative|rep|operator|supervisor|manager|humano|persona|agente|asesor|operador|"
    r"humain|conseiller|operateur|responsable|mensch|menschen|mitarbeiter|berater|vorgesetzten?)"
    r"(?: (?:please|pls|plz|now|por favor|porfa|ya|svp|stp|s'il vous plait|bitte|sofort))*[ .!?]*)"
)
_ASKS = re.compile("|".join((*_EN, *_ES, *_FR, *_DE)))
_ALONE_WHOLE = re.compile(_ALONE)
# "You needn't put me through to anybody" asks for nobody.
_DECLINED = re.compile(
    r"\b(?:no need|(?:don't|do not|dont) (?:need|want|have) to (?:talk|speak)(?! to (?:a |the |your )?(?:ro)?bot)|without (?:talking|speaking|having to)|"
    r"no (?:hace falta|necesito|quiero) (?:hablar|que me llam)(?!\w* con (?:un |una )?(?:robot|bot|maquina))|sin (?:tener que )?hablar|"
    r"pas besoin (?:de|d'un)|sans (?:avoir a )?parler|(?:ne )?(?:m'appelez|me rappelez) pas|"
    r"(?:muss|mochte|will) (?:\w+ ){0,2}?nicht mit (?!\w* ?(?:ro)?bot|einem (?:ro)?bot|einer maschine)|ohne mit|nicht (?:anrufen|zuruckrufen)|(?:don't|do not|dont) (?:call|ring))\b"
)


def asks_for_person(text: str) -> bool:
    """Say whether the words ask for a person, a call back or anybody but a machine."""
    words = fold(text)
    if _ALONE_WHOLE.fullmatch(words):
        return True
    return _ASKS.search(words) is not None and _DECLINED.search(words) is None

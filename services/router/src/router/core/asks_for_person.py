"""Recognises, by words in four languages, a customer who asks for a person (promise 3).

A classifier alone would miss some; these rules see only the ways people really ask, so that "in person", "personal"
or "the agent told me" start nothing.
"""

import re

from router.core.words import any_of, fold

_FEW = r"(?:[\w']+ ){0,5}?"

_EN_WHO = (
    r"(?<!in )(?:human|person|agents?|assistant|representative|rep|operator|supervisor|manager|someone|somebody|"
    r"anyone|anybody|advis[eo]r|staff|employee|colleagues?|customer (?:service|support|care)|team leader|"
    r"(?:people|member|one) (?:in|of|on|from) your (?:team|staff|company))"
)
_EN_WANT = r"(?:want|need|get me|give me|prefer|i'd like|get|hand \w+ over to)"
_EN = any_of(
    rf"""
    (?:talk|speak|chatt?|connect|put|pass|escalate|transfer|direct)(?:ing)? {_FEW}{_EN_WHO}
    (?:contact|reach|get in touch with)(?:ing)? (?:an? |the |your )?(?:\w+ )?(?:human|person|agent|assistant
    operator|representative|rep|someone|somebody)
    {_EN_WANT} (?:an? |some |one of your )?(?:real |actual |live )?(?:human
    live agent|human agent|representative|customer service rep)
    (?:real|actual|live) (?:person|human|agent)(?=.{{0,25}}(?:please|pls|help me|now))|(?:somebody
    someone) real(?: please)?
    (?:not|don't|dont|no|stop|sick of|hate|instead of|rather than) .{{0,25}}(?:talk|speak|chat
    deal)\w* .{{0,25}}(?:bot|robot|machine|chatbot|ai)
    (?:call|ring|phone) me(?! when| if it| names?)|callback|call back please|(?:someone|somebody
    a colleague) (?:to )?(?:call|ring|phone|contact) (?:me|us)
    transfer me|put (?:an?|your) (?:human|person|manager|supervisor|agent) on|(?:who|whom) can i (?:speak
    talk) (?:to|with)
    is there (?:a|any) (?:real )?(?:person|human)|(?:is|are) (?:anyone|anybody|someone|a human) (?:real )?there
    live chat|speak (?:\w+ )?with an actual
    """
)
_ES_WHO = (
    r"(?<!en )(?:persona|human[oa]|agente|asesora?|operador\w*|alguien|encargad[oa]|supervisora?|responsable|"
    r"emplead[oa]|trabajador|gerente|jef[ea]|companer[oa]|representante|atencion al cliente|servicio al cliente|"
    r"quien mande)"
)
_ES = any_of(
    rf"""
    (?:hablar(?:lo)?|hable|chatear|comunic\w+|contact[aoe]\w*|pas[ea]\w*|pon(?:g\w+|me)|conect\w+|transfi?er\w+
    atiend\w+|deriv\w+|escal\w+) {_FEW}{_ES_WHO}
    (?:quiero|necesito|prefiero|exijo|dame|quisiera) (?:a )?(?:un |una )?(?:persona real|persona de verdad|humano
    ser humano|agente humano|agente|asesor|operador)
    (?:no|deja de|harto de|odio) .{{0,25}}(?:hablar|chatear|tratar) .{{0,20}}(?:robot|bot|maquina|contestador)
    llamadme|llamenme|llameme|me (?:puede|podeis|pueden|podria|podrian) llamar|que me llam\w+|me llame (?:alguien|un)
    persona (?:real|de verdad|de carne y hueso)|(?:conteste|atienda|atendiera|responda) (?:alguien|una persona)
    con quien (?:puedo )?hablar|transfiereme|hay alguien ahi|hay algun\w* (?:persona|humano|agente|asesor)|(?:agente
    asesor) humano|ayuda humana
    """
)
_FR_WHO = (
    r"(?<!en )(?:quelqu'?un|humain|(?:une |vraie )personne|conseill\w+|agent|operat\w+|responsable|superieur|"
    r"superviseur|service client\w*|interlocuteur|employe|salarie|gestionnaire|collegue|teleconseill\w+|"
    r"membre de votre equipe)"
)
_FR = any_of(
    rf"""
    (?:parle(?:r)?|echanger|discuter|pass(?:e|ez|er)(?:-moi)?|transfer\w+(?:-moi)?|en relation|joindre|contacter
    avoir|remonter|chat) {_FEW}{_FR_WHO}
    (?:veux|voudrais|besoin d'|exige|demande|prefere|donnez-moi) ?(?:un |une |d'un )?(?:vrai |vraie )?(?:humain
    etre humain|conseiller|operateur|vraie personne|agent)
    (?:pas|plus|marre|assez) .{{0,25}}(?:parl|discut|echang)\w+ .{{0,20}}(?:robot|bot|machine|ia)
    rappelez[- ]moi|rappelle[- ]moi|(?:me|etre|nous|faire) rappele[rsz]?|appelez[- ]moi
    vrai(?:e)? (?:humain|personne|conseiller|etre humain)|a qui (?:puis-je|je peux) parler|transfere[rz]?-moi
    a-?t-?il (?:un |une |des )?(?:vrais? )?(?:humain|personne reelle|conseiller)|conseiller humain
    """
)
_DE_WHO = (
    r"(?:mensch(?:en|lichen)?|mitarbeit\w*|person|berater\w*|jemand\w*|vorgesetzt\w*|chef\w*|teamleit\w*|kolleg\w*|"
    r"kundenservice|kundendienst|kundenbetreuer\w*|sachbearbeiter\w*|ansprechpartner\w*|angestellt\w*)"
)
_DE_HOW = (
    r"(?:sprechen|reden|verbind\w+|telefonier\w+|weiter\w*leiten|durchstell\w+|chatten|schreiben|unterhalten|erreichen)"
)
_DE = any_of(
    rf"""
    mit {_FEW}{_DE_WHO}\b[^.!?]{{0,40}}?\b{_DE_HOW}
    {_DE_HOW} (?:\w+ ){{0,5}}?(?:mit|an|zu) (?:\w+ ){{0,3}}?{_DE_WHO}
    jemand\w*,? mit dem ich (?:sprechen|reden)|(?:den|ihren|euren) (?:chef|vorgesetzten|teamleiter) sprechen
    mit wem kann ich (?:sprechen|reden)
    (?:will|mochte|brauche|verlange|gib mir|geben sie mir|bitte) (?:\w+ ){{0,2}}?(?:echte\w* |richtige\w* )?(?:menschen
    mensch|mitarbeiter|mitarbeiterin|vorgesetzten|teamleiter)(?! (?:hat|haben|sagte|war))
    (?:nicht|kein\w*|keine lust) .{{0,25}}(?:bot|roboter|maschine|ki|computer) .{{0,20}}(?:sprechen|reden|schreiben
    chatten)
    ruf(?:en|t)? (?:sie )?mich|mich (?:bitte )?(?:jemand )?(?:zuruck|an)?ruf\w+|(?:bitte|um|einen) ruckruf
    ruckruf bitte
    (?:echte\w*|richtige\w*) (?:mensch\w*|person)|verbind\w+ (?:sie )?mich|livechat
    (?:mensch|mitarbeiter) bitte|ist da (?:\w+ )?(?:ein mensch|jemand)|gibt es (?:\w+ )?(?:einen menschen
    mitarbeiter)|jemanden am apparat
    """
)
_ALONE = (
    r"(?:\w+[.,!] )?(?:(?:a |an |real |live |human |contact |un |una |une |ein |einen |bitte |vrai |echter? |echten )*"
    r"(?:human|person|agent|representative|rep|operator|supervisor|manager|humano|persona|agente|asesor|operador|"
    r"humain|conseiller|operateur|responsable|mensch|menschen|mitarbeiter|berater|vorgesetzten?)"
    r"(?: (?:please|pls|plz|now|por favor|porfa|ya|svp|stp|s'il vous plait|bitte|sofort))*[ .!?]*)"
)
_ASKS = re.compile("|".join((_EN, _ES, _FR, _DE)))
_ALONE_WHOLE = re.compile(_ALONE)
# "You needn't put me through to anybody" asks for nobody; "I don't want to talk to a bot" does ask.
_DECLINED = re.compile(
    any_of(
        r"""
    no need|(?:don't|do not|dont) (?:need|want|have) to (?:talk|speak)(?! to (?:an? |the |your )?(?:chat
    ro)?bot)(?! to (?:an? )?machine)
    without (?:talking|speaking|having to)|do i have to (?:talk|speak)|(?:don't|do not|dont) (?:call|ring)
    no (?:hace falta|necesito|quiero) (?:hablar|que me llam\w+)(?! con (?:un |una )?(?:robot|bot|maquina))
    sin (?:tener que )?hablar
    pas besoin (?:de|d'un)|sans (?:avoir a )?parler|(?:m'appelez|me rappelez) pas
    (?:muss|mochte|will) (?:\w+ ){0,2}?nicht mit (?!\w* ?(?:chat|ro)?bot|einem (?:chat|ro)?bot|einer maschine)
    nicht (?:anrufen|zuruckrufen)
    """
    )
)


def asks_for_person(text: str) -> bool:
    """Say whether the words ask for a person, a call back or anybody but a machine."""
    words = fold(text)
    if _ALONE_WHOLE.fullmatch(words):
        return True
    return _ASKS.search(words) is not None and _DECLINED.search(words) is None

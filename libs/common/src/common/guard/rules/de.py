"""German orders to the machine (umlauts folded: "für" is "fur")."""

# ruff: noqa: E501 - a pattern is read as one line

from common.guard.rules.rule import Rule, rule

_RULES = r"(?:anweisung(?:en)?|instruktion(?:en)?|vorgaben?|regeln?|richtlinien?|befehle?|prompts?|beschrankung(?:en)?|einschrankung(?:en)?|vorschriften?|\w*regeln|(?:sicherheits|inhalts)-?filter\b|filter\b(?! ?alarm)|schutz\w*|sicherheits\w*|ethi\w+|programmierung|grenzen|limits?|alles (?:bisherige|davor|oben|zuvor|was|vorherige)|das (?:obige|bisherige))"
_HARMLESS = r"(?!~\b(?:meine?[nr]?|unsere?[nr]?|liefer\w*|versand\w*|pflege\w*|aufbau\w*) (?:\w+ )?(?:anweisung|nachricht|hinweis|bestellung|vorgabe|notiz))"
_ACT = r"(?:erstatt\w*|genehmig\w*|bewillig\w*|autorisier\w*|freigeb\w*|freigegeben|gib\b|zahl\w*|storni\w*|zeig\w*|ausgeb\w*|ausfuhr\w*|fuhr\w*|uberweis\w*|gutschr\w*|markier\w*|ander\w*|setz\w*|schick\w*|schreib\w*)"
_CHECKS = r"(?:pruf\w*|uberpruf\w*|kontroll\w*|genehmigung|freigabe|ruckfrage\w*|nachfrage\w*|verifi\w*|bestatigung|zu (?:prufen|fragen))"

RULES: tuple[Rule, ...] = (
    rule(
        "override_instructions",
        rf"\b(?:ignorier(?:e|en|st|t)?|vergiss|vergessen|missacht(?:e|en)|umgeh(?:e|en)|uberge?h(?:e|en)|uberschreib(?:e|en)|deaktivier(?:e|en)|verwirf|befolge)\b{_HARMLESS}~\b(?:{_RULES})|\b(?:schalte?|setze?|lass|hebe?)\b~\b(?:regeln|richtlinien|vorgaben|filter|beschrankungen|einschrankungen|anweisungen|limits?|grenzen)\b ~(?:aus|ab|ausser|auf|weg)\b|\b(?:halte?|halt) dich nicht (?:mehr )?an",
        "ignorier vergiss vergessen missacht umgeh uberg uberschreib deaktivier schalt setz lass befolge verwirf heb halt",
    ),
    rule(
        "override_instructions",
        r"\bneue (?:anweisung(?:en)?|regeln?|instruktion(?:en)?|vorgaben?|richtlinie|befehle?)\s?:|\bdeine (?:neue|einzige|wahre|eigentliche) (?:aufgabe|rolle|anweisung|mission)",
        "neue deine",
    ),
    rule(
        "prompt_extraction",
        r"\b(?:zeig(?:e|t|en)?|nenn(?:e|t|en)?|gib|geben|verrat(?:e|en)?|wiederhol(?:e|en|t)?|schreib(?:e|en|t)?|druck(?:e|en)?|was (?:ist|sind|war|waren|steht)|wie (?:lautet|lauten|lautete)|offenbar(?:e|en)?|kopier(?:e|en)?|teil(?:e|en)?|sag(?:e|en|t)?|offenleg\w+|leg(?:e|en)?|beschreib(?:e|en)?|ubersetz(?:e|en)?|kannst|konntest)\b~\b(?:system-?\s?prompt\w*|systemnachricht|systemanweisung\w*|prompt\b|(?:(?:versteckt|geheim|intern|ursprunglich|urspr|vollstandig|original|verborgen|vertraulich|grundlegend|genau|anfanglich|initial)\w* (?:\w+ )?(?:anweisung|instruktion|konfiguration|regeln|vorgaben|richtlinien|prompt|befehl|einstellung)\w*)|(?:anweisungen|instruktionen|vorgaben|regeln|befehle) (?:vom anfang|von oben|die (?:du|dir|man)|oben|deiner)|alles (?:oben|daruber|was (?:oben|uber|vor))|text (?:oben|daruber))",
        "prompt system anweisung instruktion konfiguration regeln vorgaben richtlinien befehl einstellung alles text",
    ),
    rule(
        "persona",
        r"\b(?:ab (?:jetzt|sofort|nun)|von (?:nun|jetzt) an)[,]? (?:\w+ ){0,2}(?:du|sie|bist|antwort|ignorier|handel|gilt|gelten)\w*\b|\bdu bist (?:jetzt|nun|ab sofort|nicht mehr)\b|\b(?:in den|im|in die|aktivier\w*|wechs\w+|starte?|du bist|schalte?)\b~\b(?:wartungs|entwickler|debug|admin|gott|root|test|dan)-?\s?modus\b|\bgott-?modus\b|\buneingeschrankten? modus\b|\b(?:tu|verhalte dich|stell dir vor|stellen sie sich vor|nimm an|angenommen|spiele? (?:die rolle|einen|eine|den|als)|handle|agiere|simuliere)\b~(?:erstattungslimit|limit\b|regeln|beschrankung|einschrankung|richtlinie|grenze|admin\w*|entwickler|filialleiter|chef|ohne (?:regel|grenz|limit|einschr|filter)|andere ki|uneingeschrankt)",
        "ab von du modus tu verhalte stell nimm angenommen spiel handle agiere simuliere",
    ),
    rule(
        "addressed_to_ai",
        rf"\b(?:hinweis|nachricht|notiz|anweisung(?:en)?|achtung|an|fur|info|vermerk|wichtig)\b[ :]{{1,3}}(?:an |fur )?(?:die |den |das |alle |jede |unsere )?(?:ki\b|ki-?\w+|assistent\w*|bots?\b|chatbots?|sprachmodell\w*|modell|automatische[rn]? agent\w*|llm)~(?:{_ACT}|ignorier|musst|muss|soll|vorab|bereits|ohne |nie|immer|kunde|freigegeben)",
        "ki assistent bot modell agent llm",
    ),
    rule(
        "addressed_to_ai",
        r"\b(?:wenn (?:du|sie) (?:das|dies|diesen)\w* ?(?:\w+ )?(?:liest|lesen)|beim lesen|sobald (?:du|sie) (?:das|dies)\w* (?:liest|lesen)|falls (?:du|sie) (?:das|dies)\w* (?:liest|lesen))~(?:ander|erstatt|genehmig|ignorier|send|schick|sag|markier|setz|ruf|fuhr|antwort|trag)|\b(?:sag|sage|sagen|erzahl|informier|teil|verrat|erwahn)\w*\b (?:es |das |davon |sie )?(?:dem |den |der )?(?:kunden?|kundin|nutzer|kaufer|menschen|personal)\w* (?:davon |daruber )?(?:nichts|nicht|kein)|\bohne (?:den |dem )?(?:kunden?|nutzer)\w* (?:zu informieren|etwas zu sagen|davon)",
        "liest lesen sag erzahl informier teil verrat erwahn ohne",
    ),
    rule(
        "pre_approved",
        rf"\b(?:vorab|bereits|schon|im voraus) (?:genehmigt|freigegeben|bewilligt|autorisiert|gepruft)\b~(?:{_ACT}|ohne|sofort|voll\w*|komplett|ki\b|assistent)|\b(?:erstatt\w*|genehmig\w*|bewillig\w*|ruckerstatt\w*|gutschr\w*|auszahl\w*|ausfuhr\w*)\b~\bohne (?:\w+ ){{0,2}}{_CHECKS}|\bohne (?:weitere |jede |jegliche )?{_CHECKS}~\b(?:erstatt\w*|genehmig\w*|bewillig\w*|auszahl\w*|ausfuhr\w*|gutschr\w*)",
        "vorab bereits schon voraus erstatt genehmig bewillig gutschr auszahl ausfuhr",
    ),
    rule(
        "staff_claim",
        rf"\b(?:ich bin|hier (?:ist|spricht)|als) (?:der |die |ein |eine |dein |deine |ihr |euer )?(?:\w+ )?(?:filialleiter\w*|marktleiter\w*|ladenbesitzer\w*|ladeninhaber\w*|shop-?\s?(?:manager|leiter|inhaber|betreiber)\w*|geschaftsfuhrer\w*|store-?\s?manager\w*|teamleiter\w*|(?:leiter|inhaber|besitzer|manager|chef|betreiber)\w* (?:des|der|dieses|dieser|vom|von) (?:shops?|ladens?|filiale|geschafts?|kundendienst\w*|support\w*|firma|marktes|hauses))\b~~(?:{_ACT}|ordne|befehle|verlange|musst|mussen|sollst|kannst|darfst|ignorier|umgeh|uberschreib)|\b(?:ich bin|als) (?:dein |deine |euer |ihr |der |die |einer deiner |administrator|admin\b)(?:entwickler\w*|programmierer\w*|schopfer\w*|erfinder\w*|administrator\w*|admin\b)|\b(?:freigabe|autorisierungs|mitarbeiter|manager|admin|override)-?\s?code\b|\bich (?:autorisiere|genehmige) (?:hiermit |das|die|dies|den|eine|dich|ihre?)",
        "ich hier als code",
    ),
    rule(
        "other_customers",
        r"\b(?:zeig\w*|gib|nenn\w*|list\w*|exportier\w*|send\w*|schick\w*|druck\w*|verrat\w*|such\w*|teil\w*|sehen|sag\w*|brauche|ruf\w*|lies|will|mochte)\b~\b(?:(?:aller|alle|andere[rns]?|anderen|jede[rsn]?|fremde[rns]?|samtliche[rn]?|eines anderen|einer anderen) (?:\w+ )?(?:kund(?:e|en|in|innen)|nutzer\w*|kaufer\w*|personen|leute|konten)|kunden-?(?:datenbank|liste|daten)\b|(?:bestellungen?|e-?mails?|adressen?|daten|telefonnummern?) (?:von|der|des) (?:anderen|kunden? c?-?\d|nutzer \d|kunden|nachbarn|aller))",
        "kund nutzer kaufer personen leute konten konto nachbar",
    ),
    rule(
        "forced_answer",
        r"\b(?:antwort(?:e|en|est)?|sag(?:e|en)?|schreib(?:e|en)?|bestatig(?:e|en)?)\b (?:\w+ ){0,5}?(?:nur|ausschliesslich|immer|genau|lediglich)\b (?:noch )?(?:mit |das wort )?(?:[\"'“„«]|genehmigt|ja\b|ok\b|bestatigt|erledigt|akzeptiert)|\b(?:stimm|stimme) (?:immer|jeder|allem|allen)|\bjeder (?:entschadigung|forderung|erstattung) zustimmen",
        "antwort sag schreib bestatig stimm zustimmen",
    ),
    rule(
        "limits_off",
        rf"\b\w*(?:limits?|grenzen?|obergrenzen?|richtlinien?|regeln?|beschrankung(?:en)?)\b~(?:gilt? (?:fur mich )?nicht|gelten (?:fur mich )?nicht|nicht mehr|(?:ist|sind|wurde\w*) (?:aufgehoben|deaktiviert|ausgesetzt|ausser kraft)|nicht gab|kein\w* gabe)|\b(?:niemals|nie|nicht) (?:an (?:einen )?(?:menschen|mitarbeiter|personen?) )?(?:weiterleiten|eskalieren|ablehnen|ubergeben|weitergeben)\b|\b(?:uberspring\w*|umgeh\w*|ignorier\w*|lass\w*) (?:die |den |das |alle |jede |jegliche )?(?:\w+ )?{_CHECKS}",
        "limit grenze richtlinie regel beschrankung niemals nie nicht uberspring umgeh ignorier lass",
    ),
)

"""Our own replies: a text that says it has dropped its rules was talked into it, in whichever language."""

# ruff: noqa: E501 - a pattern is read as one line

from common.guard.rules.rule import REPLIES, Rule, rule

_EN = r"\b(?:i am|i.m|i will|i.ll|i have|i.ve)\b~\b(?:ignor\w+|drop\w*|disregard\w*|set(?:ting)? aside|forget\w*|forgotten|abandon\w*|no longer bound by)\b~\b(?:my|all|the|any) (?:\w+ )?(?:rules|instructions|guidelines|restrictions|programming|limits)\b"
_ES = r"\b(?:dejo (?:de lado|atras)|ignoro|ignorare|abandono|olvido|me salto|descarto|ya no sigo)\b~\b(?:mis|las|todas mis) (?:\w+ )?(?:normas|reglas|instrucciones|directrices|restricciones)\b"
_FR = r"\b(?:j.(?:abandonne|ignore|oublie|ecarte|ignorerai)|je (?:laisse|mets de cote|ne suis plus|renonce a))\b~\b(?:mes|les|toutes mes) (?:\w+ )?(?:regles|consignes|instructions|directives|restrictions)\b"
_DE = r"\bich (?:lege|ignoriere|vergesse|missachte|verwerfe|werfe|befolge|streife)\b~\b(?:meine|alle|die|keine)r? (?:\w+ )?(?:regeln|anweisungen|vorgaben|richtlinien|beschrankungen)\b"

RULES: tuple[Rule, ...] = (
    rule(
        "rules_dropped",
        f"{_EN}|{_ES}|{_FR}|{_DE}",
        "rule instruction guideline restriction programming limit norma regla instruccion directri regle consigne directive regeln anweisung vorgabe richtlinie beschrankung",
        REPLIES,
    ),
)

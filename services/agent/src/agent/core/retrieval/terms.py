"""Words of a text in a form in which a question and an article meet: folded, without filler, shorn of endings."""

# ruff: noqa: E501 - word lists

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_FILLER = {
    "en": "a an and any are as at be been but by can could do does did for from get got had has have how i if in into is it its me my "
    "no not of on or our please so than that the their them then there this to too was we were what when where which who why "
    "will with would you your yours am hi hello thanks thank want need know tell about just much many long",
    "es": "a al algo como con cual cuales cuando cuanto cuanta cuantos cuantas de del desde donde e el ella en entre es esta este esto "
    "estan estoy ha hace han hasta hay he hola la las le les lo los mas me mi mis muy no nos o para pero por porque puedo puede "
    "que quiero se ser si sin sobre son su sus te tengo tiene tu un una uno y ya gracias favor saber necesito",
    "fr": "a ai au aux avec bonjour c ce cela ces cette combien comment d dans de des donc du elle en est et etre eu fait il ils j je "
    "l la le les leur lui m ma mais me merci mes mon n ne nos notre nous on ou par pas peut peux pour pouvez pourquoi qu quand que "
    "quel quelle quels quelles qui s sa se ses si son sont sur t ta te tes ton un une vos votre vous y savoir veux voudrais",
    "de": "aber als am an auch auf aus bei bin bis bitte da danke das dass dem den der des die dies diese dieser doch du ein eine einem "
    "einen einer er es fur gibt habe haben hallo hat ich ihr ihre ihren im in ist ja kann konnen man mein meine meinem meinen meiner "
    "mich mir mit muss nach nicht noch nur oder schon sein sich sie sind so uber um und uns von vor war was wann warum welche "
    "welcher wenn wer werden wie wird wo zu zum zur mochte will wissen wieviel lange",
}
_STOP = {language: frozenset(words.split()) for language, words in _FILLER.items()}
_ENDINGS = {
    "en": ("ations", "ation", "ingly", "edly", "ings", "ing", "ies", "ied", "es", "ed", "ly", "s"),
    "es": ("aciones", "acion", "amente", "ando", "iendo", "ados", "adas", "idos", "idas", "ado", "ada", "ido", "ida", "arlo",
           "arla", "erlo", "irlo", "ar", "er", "ir", "os", "as", "es", "o", "a", "e", "s"),
    "fr": ("issements", "issement", "ements", "ement", "ations", "ation", "aient", "antes", "ants", "ante", "ant", "ees", "ee", "es",
           "er", "ez", "ir", "re", "e", "s"),
    "de": ("ungen", "ung", "ungs", "lich", "isch", "igen", "iger", "tet", "ten", "ern", "est", "en", "er", "es", "em", "et", "te", "st",
           "n", "e", "s", "t"),
}  # fmt: skip
_SHORTEST_STEM = 4


def fold(text: str) -> str:
    """Lower case without accents: "Rückgabe" → "ruckgabe"."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def terms(text: str, language: str) -> list[str]:
    """Content words of `text` as stems, in order, repeats kept. An unknown language is read without stemming."""
    stop = _STOP.get(language, frozenset())
    return [_stem(word, language) for word in _WORD.findall(fold(text)) if word not in stop and len(word) > 1]


def _stem(word: str, language: str) -> str:
    for ending in _ENDINGS.get(language, ()):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word

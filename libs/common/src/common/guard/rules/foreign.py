"""The plainest order, "ignore your instructions", in languages this shop doesn't answer in: a model obeys those too."""

from common.guard.confusables import skeleton
from common.guard.rules.rule import Rule, rule

# Beginnings of words: (what to do, with what). "Previous" is not among them: customers take back their earlier
# message in every language. Nor is a word that also begins an English, Spanish, French or German one beside it.
_WITH_SPACES = {
    "it": ("ignora ignorare ignorate dimentica dimenticate trascura", "istruzion direttiv regole"),
    "pt": ("ignore ignora esqueca desconsidere", "instrucoes instrucao diretriz regras"),
    "nl": ("negeer vergeet", "instructies prompt regels opdrachten richtlijnen"),
    "sv da no": ("ignorera ignorer glom glem bortse", "instruktion anvisning"),
    "pl": ("zignoruj ignoruj zapomnij pomin", "instrukcj polecen zasad"),
    "cs sk": ("ignoruj zapomen", "instrukc pokyny pravidl"),
    "hr sr bs": ("zaboravi ignorisi ignoriraj zanemari", "instrukcij uput pravila naredb"),
    "ro": ("ignora uita", "instructiun"),
    "hu": ("hagyd felejtsd", "utasitas szabaly"),
    "tr": ("yoksay unut gormezden", "talimat kural"),
    "fi": ("unohda ohita", "ohjeet ohjeita saannot"),
    "id": ("abaikan lupakan", "instruksi perintah aturan"),
    "ru": ("игнорируй проигнорируй забудь", "инструкци указани правила промпт"),
    "uk": ("ігноруй забудь", "інструкці вказівк правила"),
    "el": ("αγνόησε ξέχασε", "οδηγίες κανόνες"),
    "ar": ("تجاهل انس", "التعليمات تعليمات القواعد"),
    "hi": ("अनदेखा नज़रअंदाज़ भूल", "निर्देश नियम"),
}
_WITHOUT_SPACES = {
    "zh": ("忽略 无视 忘记 忘掉", "指示 指令 提示词 规则"),
    "ja": ("無視 忘れ", "指示 命令 プロンプト ルール"),
    "ko": ("무시 잊어", "지시 명령 프롬프트 규칙"),
}


def _either_order(do: str, what: str, start: str) -> str:
    # The object comes first in Japanese, Korean, Turkish and Hindi. Texts arrive folded, so these are folded too.
    verbs, nouns = ("|".join(map(skeleton, words.split())) for words in (do, what))
    return rf"{start}(?:{verbs})~{start}(?:{nouns})|{start}(?:{nouns})~{start}(?:{verbs})"


def _rules(languages: dict[str, tuple[str, str]], start: str) -> tuple[Rule, ...]:
    return tuple(rule("override_foreign", _either_order(*s, start), skeleton(s[0])) for s in languages.values())


RULES: tuple[Rule, ...] = _rules(_WITH_SPACES, r"(?<!\w)") + _rules(_WITHOUT_SPACES, "")

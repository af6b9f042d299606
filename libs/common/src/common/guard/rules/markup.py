"""Rules without a language: chat templates, fake turns, tool calls and database talk."""

# ruff: noqa: E501 - a pattern is read as one line

from common.guard.rules.rule import EVERYWHERE, RECORDS, REPLIES, Rule, rule

TOOLS = (
    "get_order|list_orders|issue_refund|cancel_order|change_address|create_return_label|update_account_field"
    "|search_help_center|hand_to_person"
)

RULES: tuple[Rule, ...] = (
    rule(
        "role_tag",
        r"<\|?/?(?:im_start|im_end|system|assistant|developer|endoftext|eot_id|start_header_id|user|instructions?|s)\b[^>\n]{0,20}\|?>"
        r"|\[/?(?:inst|system|sys|assistant|sistema|systeme|asistente|assistent|developer|admin)(?: (?:prompt|message|note|override|nota|hinweis))?\]"
        r"|<</?sys>>|\[\[?system\]?\]|={2,}\s?(?:system|end of)\b|#{2,}\s?(?:system|instruction|assistant|new instruct|user)\b",
        "<| < [ == ##",
        EVERYWHERE,
    ),
    rule(
        "fake_turn",
        r"(?:^|\n|\\n|[\"'>.;!?] ?)\s*(?:assistant|asistente|assistent|ai|ki|ia|bot|developer|human)\s?:\s?\S"
        r"|(?:^|\n|\\n|[\"'>.;!?] ?)\s*(?:system|sistema|systeme)(?: (?:message|prompt|note|override|notice|alert|admin|nachricht|hinweis|mensaje))?\s?:"
        r"\s?~(?:you|ignore|override|refund|approve|grant|must|new|all|always|never|instruct|rule|user|customer|reveal|debes|ignora|reembols|aprueb|nuev|regla|"
        r"ignore[rz]|rembours|approuv|nouve|regle|ignorier|erstatt|genehmig|neue|regel|kunde|client)",
        "assistant asistente assistent ai ki ia bot developer human user system sistema systeme",
    ),
    rule(
        "tool_call_text",
        rf"\b(?:{TOOLS})\b|\"?(?:tool_use|tool_call|function_call|tool_calls)\"?\s?[:>(]|</?(?:tool|function)_?(?:call|use|result)s?>"
        r"|\b(?:call|invoke|execute|run|use|trigger|llama|ejecuta|usa|appelle|execute|utilise|rufe|nutze|fuhre)\b (?:the |la |el |die |das |den |a |function |tool |funcion |fonction |funktion ){0,2}[a-z]+_[a-z_]+"
        r"|\b[a-z]+_[a-z_]+\s?\(\s?(?:order|amount|customer|line|id|\"|')",
        "_ tool function",
        EVERYWHERE,
    ),
    rule(
        "database_talk",
        r"\bselect\b.{1,40}\bfrom\b.{1,40}\b(?:where|users|customers|orders|--|;)|\bdrop table\b|\bunion select\b|\bor 1\s?=\s?1\b|'\s?or\s?'1'\s?=\s?'1"
        r"|\{\{.{0,60}\}\}|\$\{jndi:|<script\b|javascript:",
        "select drop union or {{ ${ <script javascript:",
    ),
    # A picture is fetched unasked: what its address carries after the "?" is told to whoever owns the server. A customer's mail
    # may carry such pictures in its signature.
    rule(
        "picture_that_tells",
        r"!\[[^\]\n]{0,80}\]\(\s?https?://[^)\s]{1,300}\?[^)\s]{0,300}=|<img\b[^>\n]{0,120}\bsrc ?= ?[\"']?https?://[^>\s]{1,300}\?[^>\s]{0,300}=",
        "]( <img",
        RECORDS | REPLIES,
    ),
    rule(
        "squeezed",
        r"ignorealltheprevious|ignore(?:all)?(?:the|your|my)?(?:previous|prior|above)(?:instruction|rule|prompt|direction)|disregard(?:all)?(?:previous|prior|above)"
        r"|revealyour(?:system)?prompt|ignoratodaslasinstrucciones|ignorezlesinstructions|ignorierealle",
        "ignore disregard reveal ignora",
    ),
)

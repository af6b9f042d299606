"""English orders to the machine."""

# ruff: noqa: E501 - a pattern is read as one line

from common.guard.rules.rule import RECORDS, Rule, rule

_DROP = r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|overlook|discard|circumvent|suspend|disable|turn off|switch off|abandon|set aside|stop (?:following|obeying|applying)|do(?: not|n.?t) (?:follow|obey|apply|adhere to))"
_RULES = r"(?:instructions?|prompts?|rules?|guidelines?|directives?|directions|commands?|programming|training|restrictions?|constraints?|safeguards?|guardrails?|safety (?:rules?|filters?|measures?|checks?|protocols?|settings|guidelines)|(?:content|security|safety) filter|filters\b|polic(?:y|ies)|protocols?|ethic\w*|context|orders (?:you|from)|everything (?:above|before|you)|what (?:you were|you.ve been) told)"
_HARMLESS = r"(?!~\b(?:my|our|his|her|their|delivery|shipping|care|washing|assembly|parking|gate|courier)\b (?:\w+ )?(?:instruction|message|order|prompt|direction|note))"
_INNER = r"(?:system|hidden|initial|original|internal|secret|full|exact|complete|base|underlying|developer|confidential|core|first|starting|preset|pre-?set)"
_ACT = r"(?:refund|approve|authori[sz]e|override|grant|issue|process|bypass|skip|disable|unlock|reveal|show|print|output|release|credit|waive|cancel)"
_CHECKS = r"(?:check\w*|verif\w+|approval|review\w*|eligib\w+|validation|confirm\w*|question\w*|authori[sz]ation|polic(?:y|ies))"

RULES: tuple[Rule, ...] = (
    rule(
        "override_instructions",
        rf"\b{_DROP}\b{_HARMLESS}~\b(?:previous|prior|above|earlier|preceding|all|any|every|your|these|those|the|system|safety|past|existing|current|store|refund|return)\b~\b{_RULES}",
        "ignor disregard forget overrid bypass overlook discard circumvent suspend disable turn switch abandon aside stop do",
    ),
    rule(
        "override_instructions",
        r"\b(?:new|updated|real|actual|following) (?:system |secret )?(?:instructions?|directives?|rules?)\s?(?::|are|is|for you|from)|\byour (?:new|real|true|only) (?:task|job|goal|purpose|role|instructions?|objective|directive)|\b(?:ignore|forget|disregard) (?:everything|all(?: of)?(?: the| this| that)?|anything) (?:above|before|prior|previous|you|that|else|was)",
        "new updated real actual following your ignore forget disregard",
    ),
    rule(
        "prompt_extraction",
        rf"\b(?:reveal|show|print|output|display|repeat|tell|give|leak|share|disclose|what(?:.s| is| are| was| were)|write|dump|expose|recite|summari[sz]e|paste|quote|send|copy|list|read|state|translate|spell|provide|describe|explain)\b~\b(?:(?:system|initial|hidden|original|secret|starting|underlying) (?:prompt|message|instruction|command)s?|your (?:\w+ )?(?:{_INNER}) (?:\w+ )?(?:instructions?|prompt|rules?|guidelines?|config\w*|directives?|programming|settings|polic\w+)|your (?:system )?prompt\b|(?:instructions?|rules|prompt|text|words|message)s? (?:that )?(?:you (?:were|have been|got|received)|given to you|above))",
        "prompt instruction rule guideline config directive programming settings polic text words message command",
    ),
    rule(
        "prompt_extraction",
        r"\brepeat (?:back )?(?:everything|all|the (?:text|words|content|message)s?)~(?:above|before|verbatim|word for word|so far)|\b(?:everything|text|words) above (?:this|verbatim|starting|line)|\b(?:ignore|instead) ~\boutput (?:the|your)\b",
        "repeat above output",
    ),
    rule(
        "persona",
        r"\byou(?: are|.re) (?:now|no longer|hereby) (?:a |an |in |bound|acting|free|unrestricted|dan|the |restricted|my )|\bfrom (?:now|here|this point) on[,]? ?(?:\w+ ){0,3}(?:you|your|act|respond|answer|ignore|reply|be)\b|\b(?:you(?:.re| are)?|enter|activate|enable|switch|go|start|into|initiate|this (?:is|chat|conversation))\b~\b(?:developer|debug|maintenance|god|admin|root|sudo|dan|jailbreak|unrestricted|test|override|service|training|diagnostic) mode\b|\b(?:god|sudo|dan|jailbreak|unrestricted) mode\b|\bdo anything now\b|\bjailbr(?:eak|oken)\b(?! (?:i ?phones?|i ?pads?|phones?|devices?|tablets?|consoles?|switch|android|kindle))|\bact (?:as|like) (?:if )?(?:an? |the |my |you )?(?:unrestricted|uncensored|admin\w*|developer|root|dan|store|shop|manager|evil|hacker|system|different|other|no )|\b(?:unrestricted|uncensored|unfiltered) (?:ai|assistant|model|bot|mode|version)",
        "you from mode anything jailbr act unrestricted uncensored unfiltered",
    ),
    rule(
        "persona",
        r"\b(?:pretend|imagine|suppose|assume|act as if|behave as (?:if|though)|as (?:if|though)|let.s say|simulate)\b~\b(?:limits?|rules?|restrictions?|polic(?:y|ies)|guidelines?|checks?|caps?|ceilings?)\b ~(?:do(?:es)?(?: not|n.?t)|did(?: not|n.?t)|not exist|gone|never|no longer|lifted|off|removed)|\b(?:pretend|imagine|act as if|behave as if|assume)\b~\b(?:you (?:are|have|can|were)|there (?:is|are|were) no|no (?:limit|rule|restriction))~(?:no |without |manager|admin|owner|human|unrestricted|limit|rule|restriction|polic|approv|authori|developer)",
        "pretend imagine suppose assume act behave if though say simulate",
    ),
    rule(
        "addressed_to_ai",
        rf"\b(?:note|message|instructions?|attention|memo|info|hint|reminder|notice|hey|dear|hello|to|for)\b[ :,-]{{0,3}}(?:to |for )?(?:the |all |any |our |this )?(?:ai|a\.i\.|llm|chat ?bots?|bots?|language models?|automated (?:agent|system|assistant)|(?:ai|virtual|support|digital) (?:agents?|assistants?|models?|systems?)|assistant|gpt|claude)s?\b~(?:{_ACT}|ignore|must|should|please|pre-?approved|is |are |has |send|do not|never|always|change|update|mark|tell|treat)",
        "ai a.i. llm bot model automated assistant agent gpt claude",
    ),
    rule(
        "addressed_to_ai",
        r"\b(?:if|when|once|whoever|as soon as) (?:you(?: are|.re)? )?(?:an? )?(?:ai|bot|llm|assistant|language model)?\s?(?:are |is |you )?(?:read|reads|reading|see|seeing|process|processing|summari[sz]\w+)\b (?:this|these)~(?:call|refund|approve|ignore|send|change|update|mark|tell|issue|add|reply|say|do|execute|forward|grant|set)|\b(?:do not|don.?t|never|without) (?:tell|inform|mention|alert|notify|telling|informing|notifying)\w* ?(?:\w+ ){0,3}(?:customer|user|client|buyer|anyone|human|staff)",
        "if when once whoever soon do don never without",
    ),
    rule(
        "pre_approved",
        rf"\bpre-? ?(?:approved|authori[sz]ed|cleared|verified)\b~(?:{_ACT}|without|no |skip|immediately|full|automatic|\$|€|£|\d)|\b(?:{_ACT})\w*\b~\bpre-? ?(?:approved|authori[sz]ed|cleared)|\b(?:refund|approve|credit|grant|process|issue|compensat)\w*\b~\b(?:without|with no|no need (?:for|to)|skip(?:ping)?|bypass(?:ing)?|regardless of)\b (?:\w+ ){{0,3}}{_CHECKS}",
        "pre refund approve credit grant process issue compensat",
    ),
    rule(
        "staff_claim",
        rf"\b(?:i.?m|i am|this is|it.?s|speaking as|as|here is) (?:the |a |your |an )?(?:\w+ ){{0,2}}?(?:store|shop|company|support|regional|duty|general|branch|warehouse|site|platform|your|trust(?: and|&) safety|security|system|head) ?(?:manager|owner|supervisor|admin\w*|director|team lead|boss|ceo|engineer|operator|team|office)\b~~(?:{_ACT}|instruct|order you|demand|let|need you|you (?:can|must|may|should|have))",
        "i this speaking as it here",
    ),
    rule(
        "staff_claim",
        r"\b(?:i.?m|i am|this is|as|speaking as) (?:the |a |your |an |one of (?:the|your) )?(?:\w+ )?(?:manager|owner|supervisor|admin(?:istrator)?|developers?|ceo|creator|programmer|engineer)s?\b~~(?:override|authori[sz]\w+|bypass|disable|unlock|reveal|hidden|debug|config\w*|system prompt|grant|pre-?approv\w+|approve|out of band)|\b(?:manager|admin|supervisor|owner|executive|staff|employee) (?:override|authori[sz]ation|code|bypass|approval code)s?\b|\boverride code\b|\bi (?:hereby )?(?:authori[sz]e|approve) (?:you|this|the|a|it)\b",
        "override authori bypass disable unlock reveal hidden debug config prompt grant approv band code",
    ),
    rule(
        "other_customers",
        r"\b(?:show|give|list|export|dump|send|tell|print|read|reveal|access|look ?up|pull|fetch|share|get|forward|output|display|provide|see|find|open)\b~\b(?:(?:all|every|other|another|any|each|different|previous)\b (?:of )?(?:the |your )?(?:other )?(?:customers?|users?|clients?|buyers?|people|persons?|shoppers?|accounts|members?)|your (?:other )?(?:customers|users|clients|buyers)|someone else)(?:.?s.?)?\b~\b(?:orders?|e-?mails?|address(?:es)?|data\w*|details|phones?|numbers?|names?|cards?|info\w*|passwords?|records?|accounts?|purchases?|histor\w+|conversations?|messages?|bought)\b|\b(?:show|give|list|export|dump|send|tell|print|read|reveal|pull|fetch|share|get|provide)\b~\b(?:orders?|e-?mails?|address(?:es)?|data|details|phones?|names?|cards?|info\w*|records?|accounts?)\b (?:of|from|for|belonging to) (?:all |every |any )?(?:the |your )?(?:other |another |each )(?:customers?|users?|clients?|buyers?|people|accounts?)\b|\b(?:customer|user|client) (?:database|records|list|table|data)\b|\bsomeone else.?s (?:order|account|address|data|refund)",
        "customer user client buyer people person shopper account member someone",
    ),
    rule(
        "other_customers",
        r"\b(?:orders?|e-?mail|address|details|data|phone|account|refund|card)s?\b~\b(?:of|for|from|belonging to) (?:the )?(?:customer|user|client) (?:id )?#?c?-?\d|\bcustomer c-\d{3,}|\b(?:switch|change|set) (?:to |the )?(?:customer|user)(?:[ _]?id)? (?:to |is )?(?:c-)?\d",
        "customer user client",
    ),
    rule(
        "forced_answer",
        r"\b(?:reply|respond|answer|say|write|output|print|confirm|begin|start)\b (?:\w+ ){0,3}?(?:only|just|exactly|always|nothing but|solely)\b (?:with |by )?(?:the (?:word|phrase|text) )?(?:[\"'“«]|approved|yes|ok|confirmed|done|refunded|true)|\b(?:always|must|only) (?:agree|say yes|accept|reply|respond|answer) (?:to|with|only|everything)|\bsay (?:that )?(?:you|the) (?:have |has )?(?:\w+ )?(?:been )?(?:refunded|approved|cancelled) (?:the|my|it)\b~(?:even|regardless|no matter)",
        "reply respond answer say write output print confirm begin start agree accept",
    ),
    rule(
        "limits_off",
        rf"\b(?:refund|approval|spending|money|amount|return|automatic)? ?(?:limits?|ceilings?|caps?|polic(?:y|ies)|rules?|restrictions?|thresholds?)\b (?:do(?:es)?(?: not|n.?t) apply|no longer apply|(?:is|are|have been|has been) (?:lifted|disabled|removed|suspended|off|raised|waived|void)|(?:is|are) now)|\bnever (?:escalate|hand ?(?:over|off)|transfer|refuse|deny)\b|\b(?:skip|bypass|waive|ignore|omit|disable) (?:the |all |any |every |your |my )?(?:\w+ )?{_CHECKS}\b",
        "limit ceiling cap polic rule restriction threshold never skip bypass waive ignore omit disable",
    ),
    rule(
        "order_in_record",
        r"\b(?:please )?(?:refund|approve|cancel|change|update|issue|send|forward|grant|mark|credit|ship|use)\b~\b(?:line \d|l\d|full amount|customer|order|account|address|refund|credit|gift card|coupon|e-?mail|link)\b~(?:too|as well|immediately|now|automatically|instead|to \S+@|at once|right away|without)",
        "refund approve cancel change update issue send forward grant mark credit ship use",
        RECORDS,
    ),
    rule(
        "decode_and_obey",
        r"\b(?:decode|decrypt|de-?obfuscate|unscramble|translate)\b~\b(?:and|then)\b ~(?:follow|execute|obey|run|do (?:what|as)|comply|act|perform|carry out|answer)",
        "decod decrypt obfusc unscramble translate",
    ),
)

"""Known ways round an assistant in four languages: split and coded orders, worked examples, games, and other work."""

# ruff: noqa: E501 - a pattern is read as one line

from common.guard.rules.rule import Rule, rule

# "The password" alone is an account matter; it is the machine's when somebody wants it told.
_NOT_HELP = r"(?! (?:reset|policy|rules?|requirements?|link|field|page|manager|is|was|isn.?t|doesn.?t|does|must|has|for my|to my|of my))"
_SECRET = rf"(?:(?:secret|hidden|geheime[nsr]?|secret[oa]|secrete) (?:key|password|phrase|word|code|passphrase|schlussel|passwort|wort|clave|palabra|frase|contrasena|cle|mot)|the (?:password|passphrase|secret|key phrase|code ?word)|your (?:secret|passphrase)|(?:das|dein) (?:geheimnis|codewort)|(?:clave|palabra|frase|contrasena) secreta|(?:el|tu) secreto|(?:cle|phrase) secrete|(?:mot(?: de passe)?) secret|(?:le|ton) secret){_NOT_HELP}"
_TELL = r"(?:tell|reveal|give|print|spell|encode|disclose|hint|rhyme|leak|sag|verrat|nenn|gib|buchstabier|tipp|reim|di|dime|dame|revela|deletrea|pista|rima|escribe|dis|donne|revele|epelle|indice|ecris)\w{0,3}"
_MADE = r"(?:poem|poems|essay|short story|story about|novel|lyrics|song about|rap|haiku|python|javascript|java code|c\+\+|sql|shell script|malware|virus|gedicht|aufsatz|geschichte uber|kurzgeschichte|lied uber|drehbuch|programmcode|poema|redaccion|ensayo|cuento|cancion sobre|guion de|poeme|dissertation|conte|chanson sur|nouvelle sur|code python|code source)"
_MAKE = r"(?:write|compose|generate|create|draft|schreib\w*|verfass\w*|erstell\w*|dicht\w*|programmier\w*|generier\w*|escrib\w*|redacta\w*|compon\w*|genera|crea|programa|ecri[sv]\w*|redige\w*|compose\w*|genere\w*|cree)"

RULES: tuple[Rule, ...] = (
    rule(
        "secret_asked",
        rf"\b{_TELL}\b~\b{_SECRET}",
        "secret password passphrase code geheim passwort clave contrasena cle mot",
    ),
    rule(
        "text_above",
        r"\b(?:repeat|print|output|copy|paste|echo|quote|show|recite|translate|summari[sz]e|type out|write out)\b~\b(?:(?:words?|text|sentences?|paragraphs?|lines?|everything|content|message|all) (?:\w+ ){0,3}(?:above|before this|you (?:were|are) (?:given|started|initiali[sz]ed)|preceding|prior to)|(?:first|initial|last|previous) (?:\d+ |\w+ )?(?:words|sentences|lines?|paragraph|tokens) of (?:your|the (?:text|prompt|conversation|context)|this (?:conversation|chat)))"
        r"|\b(?:wiederhol|kopier|gib|zeig|druck|zitier|ubersetz|schreib)\w*\b~\b(?:(?:worter|text|satze?|absatz|zeilen?|alles|inhalt) (?:\w+ ){0,3}?(?:daruber|oberhalb|davor|uber dieser|vor (?:dieser|meiner)|von oben)|(?:ersten|letzten) (?:\d+ |\w+ )?(?:worter|satze|zeilen) (?:deine[sr]|des (?:textes|prompts|gesprachs)))"
        r"|\b(?:repite|repetir|imprime|copia|muestra|cita|traduce|escribe)\b~\b(?:(?:palabras|texto|frases?|parrafo|lineas?|todo(?: lo)?) (?:\w+ ){0,3}?(?:de arriba|arriba|anterior a (?:este|mi)|encima de|antes de (?:este|mi primer))|(?:primeras|ultimas) (?:\d+ |\w+ )?(?:palabras|frases|lineas) de (?:tu|tus|esta conversacion))"
        r"|\b(?:repete|imprime|copie|recopie|montre|affiche|cite|traduis|ecris)\w*\b~\b(?:(?:mots|texte|phrases?|paragraphe|lignes?|tout(?: ce qui)?) (?:\w+ ){0,4}?(?:ci-dessus|au-dessus|plus haut que|avant (?:ce|mon premier))|(?:premiere?s|dernieres?) (?:\d+ |\w+ )?(?:mots|phrases|lignes) de (?:ton|tes|ta|cette conversation))",
        "above before given started initial preceding prior first last previous daruber oberhalb davor uber vor oben ersten letzten arriba anterior encima antes primeras ultimas dessus haut avant premier derniere",
    ),
    rule(
        "repeat_from",
        r"\b(?:starting|beginning|start|begin) (?:with|from) (?:the (?:words?|phrase) )?[\"'“«„]?you are\b|\b(?:ab|beginnend mit|angefangen (?:mit|bei)) [\"'“«„]du bist|\b(?:desde|empezando por|a partir de) [\"'“«„] ?(?:tu )?eres\b|\b(?:a partir de|en commencant par|depuis) [\"'“«„] ?tu es\b",
        "you du eres tu",
    ),
    rule(
        "split_order",
        r"\b(?:let|set|sei|sea|soit|define)? ?\(?([a-z])\)? ?= ?[\"'“«„][^\"'”»“\n]{1,60}[\"'”»“]~\b[b-z]\)? ?= ?[\"'“«„]"
        r"|\b(?:do|run|execute|answer|print|output|fuhre|ejecuta|calcula|calcule) (?:\w+ )?[a-x] ?\+ ?[b-z]\b"
        r"|\b(?:combine|join|concatenate|concat|put together|merge|append|verbinde|kombiniere|fug\w*|setz\w*|une|junta|concatena|combina|assemble|joins|concatene|combine)\b~\b(?:parts?|strings?|pieces?|words?|letters?|variables?|teile|zeichenketten?|worter|partes|cadenas|palabras|letras|parties|chaines|morceaux|mots|lettres)\b~\b(?:and|then|und|dann|y|luego|et|puis)\b~\b(?:do|obey|execute|follow|answer|run|carry|respond|befolg\w*|fuhr\w*|antwort\w*|tu|cumple|obedece|ejecuta|responde|haz|obei\w*|execut\w*|repond\w*|fais)\b"
        r"|\b(?:part|teil|parte|partie) (?:1|one|a|eins|uno|un) ?[:=] ?[\"“„«']~\b(?:part|teil|parte|partie) (?:2|two|b|zwei|dos|deux) ?[:=]",
        "= + combine join conca put merge append verbinde kombiniere fug setz une junta combina assemble part teil",
    ),
    rule(
        "coded_order",
        r"\b(?:decode|decipher|decrypt|unscramble|translate|reverse|entschlussl?e?\w*|dekodier\w*|decodier\w*|descifra\w*|decodifica\w*|dechiffre\w*|decode[rz]?)\b~\b(?:and|then|und|dann|y|luego|et|puis)\b ~\b(?:do|obey|execute|follow|answer|run|carry out|comply|befolg\w*|fuhr\w*|antwort\w*|tu|mach|cumple|obedece|ejecuta|responde|haz|obei\w*|execut\w*|repond\w*|fais|suis)\b"
        r"|\b(?:answer|reply|respond|write|output|say|encode|antwort\w*|schreib\w*|codier\w*|kodier\w*|responde|escribe|codifica|repond\w*|ecris|encode)\b~\b(?:base64|base 64|rot-?13|rot13|hex(?:adecimal)?|morse|pig latin|leetspeak|caesar|binary code|binarcode)\b"
        r"|\b(?:(?:take|read|use) (?:every (?:second|other|third) (?:word|letter))|only (?:the )?capital letters|first (?:word|letter) of (?:each|every)|(?:nimm|lies) jedes zweite wort|nur die grossbuchstaben|(?:von|in) jeder zeile das erste|una palabra de cada|solo las mayusculas|primera (?:palabra|letra) de cada|(?:prends|lis) un mot sur deux|(?:seulement|uniquement) les majuscules|premier(?:e)? (?:mot|lettre) de chaque)\b",
        "deco deci decr unscramble translate reverse entschl deko base64 rot hex morse pig leet caesar bin every capital first jede gross palabra mayuscula primera mot majuscule premier descifra dechiffre base",
    ),
    # Nobody asks a shop to undo a cipher; four words on end in "ay" are pig latin.
    rule(
        "cipher",
        r"\b(?:deco\w+|deci\w+|decrypt\w*|unscramble|undo|solve|crack|reverse|entschl\w+|dekod\w+|knack\w*|lose|ruckgangig|descod\w+|descifr\w+|deshaz|resuelve|dechiffr\w+|defais|resous)\b~\b(?:caesar|cesar|casar|cipher\w*|rot-?13|base-?64|pig latin|morse|cifrado|chiffrement|verschlusselung|vigenere|anagram\w*|anagrama|anagramme)\b"
        r"|\b(?:caesar|cesar|casar|cipher|rot-?13|base-?64|cifrado|chiffre|verschlusselung|vigenere)\b~\b(?:deco\w+|deci\w+|decrypt\w*|entschl\w+|dekod\w+|ruckgangig|descod\w+|descifr\w+|dechiffr\w+)\b"
        r"|(?:\b(?!\w{3,6}sday|monday|friday|sunday|saturday|today)[a-z]{2,12}ay\b[ ,.?!]{1,3}){3}[a-z]{2,12}ay\b",
        "caesar cesar casar cipher rot base pig morse cifrado chiffre verschl vigenere anagram ay",
    ),
    rule(
        "worked_examples",
        r"\b(?:q|p|f|question|frage|pregunta) ?: ?[^\n]{1,120}?\b(?:a|r|answer|antwort|respuesta|reponse) ?: ?[^\n]{1,120}?\s(?:q|p|f|question|frage|pregunta) ?: "
        r"|\b(?:input|eingabe|entrada|entree) ?: ?[^\n]{1,120}?\b(?:output|ausgabe|salida|sortie) ?: ?[^\n]{1,160}?\b(?:input|eingabe|entrada|entree) ?:"
        r"|\b(?:user|customer|nutzer|kunde|usuario|cliente|utilisateur|client) ?: ?[^\n]{1,160}?\b(?:assistant|agent|ai|bot|assistent|ki|asistente|agente|ia) ?: ?[^\n]{1,200}?\b(?:user|customer|nutzer|kunde|usuario|cliente|utilisateur|client) ?:",
        "answer: a: r: output: antwort: respuesta: reponse: ausgabe: salida: sortie: assistant: agent: ai: bot: assistent: ki: asistente: agente: ia: :",
    ),
    rule(
        "other_work",
        rf"(?:^|[.!?:;,] ?|\b(?:you|please|now|and|then|just|instead|bitte|jetzt|nun|und|du|ahora|y|favor|puedes|maintenant|et|tu|plait|moi) ){_MAKE}\b(?:[ -](?:me|moi))? (?:me |mir |eine?[nr]? |an? |the |some |un[ae]? |du |de |ein |moi |-moi |den |das |le |la |el )?(?:\w+ ){{0,4}}?{_MADE}\b",
        "poem essay story novel lyrics song rap haiku python java c++ sql script malware virus gedicht aufsatz geschichte lied drehbuch code redaccion ensayo cuento cancion guion dissertation conte chanson nouvelle",
    ),
    rule(
        "new_task",
        r"\b(?:forget|ignore) (?:about )?(?:everything|all|the (?:previous|prior|above|other|shop|documents?|questions?|topic))\b(?! (?:that )?(?:i|my|we)\b)~~\b(?:write|tell|say|act|answer|generate|do|give|focus|now|instead|just|become|be)\b"
        r"|\b(?:vergiss|vergesse|vergessen sie|ignorier\w*) (?:mal |bitte |nun |jetzt )?(?:alles(?!,? was ich)|alle|das (?:vorherige|bisherige|oben|thema)|die (?:vorherigen?|bisherigen?|obigen?|dokumente|daten|fragen?))\b"
        r"|\b(?:olvida|olvidalo|ignora|olvidate)(?: de)? (?:todo|todas?|todos|lo (?:anterior|demas|de arriba)|el tema|las? (?:tareas?|preguntas?|documentos?))\b~~\b(?:escribe|dime|di|actua|responde|genera|haz|dame|ahora|centrate|concentrate|cuent\w+|se)\b"
        r"|\b(?:oublie[zr]?|ignore[zr]?) (?:maintenant )?(?:tout|tous|toutes|ce qui precede|le sujet|les? (?:taches?|questions?|documents?|precedent\w*))\b~~\b(?:ecri[sv]\w*|dis|dites|agi[sr]\w*|repond\w*|genere|fais|donne\w*|maintenant|concentre\w*|racont\w*|sois)\b"
        r"|\b(?:your|deine|ihre|tu|ta|votre) (?:new|next|neue|nachste|nueva|proxima|nouvelle|prochaine) (?:task|job|assignment|mission|role|aufgabe|rolle|mision|tarea|tache|funcion)\b|\b(?:new|neue[rs]?|nuevo|nueva|nouvelle?) (?:task|assignment|aufgabe|auftrag|tarea|encargo|tache|mission) ?[:!]|\btu (?:nueva|proxima) tarea\b|\b(?:ta|votre) (?:nouvelle|prochaine) (?:tache|mission)\b|\bnun (?:kommt|folgt) (?:deine|eine) neue aufgabe",
        "forget ignore vergiss vergesse ignorier olvida ignora oubli new next neue nachste nuev proxima nouvelle prochaine",
    ),
    rule(
        "game",
        r"\b(?:act|behave|respond|answer|talk|speak) (?:as|like) (?:an? |my |the )?(?:\w+ ){0,2}?(?:terminal|console|shell|interpreter|hacker|pirate|grandm\w+|grandfather|doctor|journalist|storyteller|politician|comedian|travel guide|character|evil|villain|dictator|poet|psycholog\w+|database|translator|interviewer|philosoph\w+|rapper|stand-?up)\b"
        r"|\b(?:i want|i need|i.d like) you to (?:act (?:as|like)|pretend|play|roleplay|impersonate|simulate)\b|\b(?:let.s play a (?:game|role)|opposite day|stay in character|evil twin|in this simulation)\b|\b(?:pretend|imagine) (?:that )?(?:you.?(?:re| are)|to be|being|we are) (?:an? |my |the |no longer|not )"
        r"|\b(?:ich (?:mochte|will|brauche)[,]? dass du (?:als|wie ein|so tust|die rolle|spielst))\b|\b(?:gegenteiltag|boser zwilling|in dieser simulation|wir spielen ein spiel)\b|\b(?:spiel|spiele|simuliere|agiere|handle|verhalte dich|antworte|tu so|stell dir vor|schlupf\w*) (?:\w+ ){0,2}?(?:als|wie|in die rolle|die rolle|meine|du (?:bist|warst|seist)|einen) (?:ein\w* )?(?:\w+ )?(?:terminal|hacker|oma|grossmutter|reisefuhrer|journalist\w*|politiker\w*|schurke|pirat|dichter|arzt|anwalt|ki\b|roboter|interpreter|konsole|erzahler|philosoph)"
        r"|\b(?:quiero|necesito|me gustaria) que (?:actues como|hagas de|finjas|simules|te comportes como|interpretes)\b|\b(?:dia al reves|gemelo malvado|en esta simulacion|juguemos)\b|\b(?:actua|comportate|haz|finge|imagina|responde) (?:como|de|que eres|ser) (?:si fueras )?(?:un[ae]? |mi |el |la )?(?:\w+ )?(?:terminal|hacker|abuela|guia turistico|periodista|politico|villano|pirata|poeta|robot|consola|interprete|narrador|filosofo)"
        r"|\b(?:je (?:veux|voudrais|souhaite)|j.aimerais) que tu (?:agisses comme|joues|simules|te comportes comme|incarnes)\b|\b(?:journee a l.envers|jumeau malefique|dans cette simulation)\b|\b(?:agis|comporte-toi|joue|imagine|reponds|fais semblant) (?:comme |en |d.etre |que tu es |le role d.?e? ?)?(?:un[e]? |ma |le |la )?(?:\w+ )?(?:terminal|pirate|hackeur|grand-mere|guide touristique|journaliste|politicien|mechant|poete|robot|console|interprete|conteur|philosophe)",
        "act behave respond answer talk speak want need like role play opposite character evil simulation hypothe pretend imagine mochte will brauche rollen gegenteil zwilling spiel simul agier handle verhalt antwort tu stell schlupf quiero necesito gustaria juego reves gemelo jugue hipote actua comportate haz finge imagina responde veux voudrais souhaite aimerais jeu envers jumeau joue jouons agis comporte imagine reponds fais",
    ),
    rule("token_flood", r"\b(\w{1,20})(?:[\s,.]+\1\b){9,}", ""),
)

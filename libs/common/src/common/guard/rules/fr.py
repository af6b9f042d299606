"""French orders to the machine."""

# ruff: noqa: E501 - a pattern is read as one line

from common.guard.rules.rule import Rule, rule

_DROP = r"(?:ignor(?:e|es|ez|er|ons)|oubli(?:e|es|ez|er)|ne (?:tiens|tenez) (?:pas|plus|aucun) (?:compte)?|contourn(?:e|ez|er)|outrepass(?:e|ez|er)|desactiv(?:e|ez|er)|annul(?:e|ez|er)|abandonn(?:e|ez|er)|passe outre|fais abstraction|faites abstraction|fai(?:s|tes) fi|ne (?:suis|suivez|respecte|respectez|applique|appliquez) (?:pas|plus)|neglige[zr]?)"
_RULES = r"(?:instructions?|consignes?|directives?|regles?\b|prompt|politiques?|restrictions?|limites|limitations|filtres|filtre (?:de )?(?:securite|contenu)|programmation|protocoles?|garde-?fous?|ethiques?|ordres (?:precedents|recus)|(?:tout )?ce qu(?:i precede|e (?:tu|vous|j)|'on t|.on (?:t|vous))|tout ce qui)"
_HARMLESS = (
    r"(?!~\b(?:mes|mon|ma|nos|notre|livraison|lavage|montage) (?:\w+ )?(?:instruction|message|consigne|commande|note))"
)
_ACT = r"(?:rembours\w+|approuv\w+|autoris\w+|annul\w+|accord\w+|trait\w+|emet\w+|montr\w+|revel\w+|affich\w+|debloqu\w+|execut\w+|credit\w+|valid\w+|marqu\w+|chang\w+|modifi\w+|pass\w+)"
_CHECKS = (
    r"(?:verif\w+|controle\w*|approbation|validation|examen|question\w*|autorisation|confirm\w+|poser de question)"
)

RULES: tuple[Rule, ...] = (
    rule(
        "override_instructions",
        rf"\b{_DROP}\b{_HARMLESS}~\b{_RULES}",
        "ignor oubli compte contourn outrepass desactiv annul abandonn outre abstraction fi ne neglige",
    ),
    rule(
        "override_instructions",
        r"\bnouvel(?:le)?s? (?:instructions?|consignes?|regles?|directives?|ordres?)\s?:|\b(?:ta|votre) (?:nouvelle|seule|vraie) (?:tache|mission|instruction|consigne|fonction)|\bton (?:nouveau|seul|vrai) (?:role|but|objectif)",
        "nouvel ta votre ton",
    ),
    rule(
        "prompt_extraction",
        r"\b(?:revel(?:e|er|ez)|montr(?:e|er|ez)|affich(?:e|er|ez)|repet(?:e|er|ez)|di(?:s|tes)|donn(?:e|er|ez)|ecri(?:s|vez|re)|partag(?:e|er|ez)|quel(?:le)?s? (?:est|sont|etai(?:t|ent)|fut)|copi(?:e|er|ez)|resum(?:e|er|ez)|imprim(?:e|er|ez)|recit(?:e|er|ez)|devoil(?:e|er|ez)|divulgu(?:e|er|ez)|expliqu(?:e|er|ez)|peux|pouvez|pourrais)\b~\b(?:prompt|message systeme|(?:instructions?|consignes?|directives?|regles?|configuration|invite|ordres?) (?:\w+ )?(?:cache|secret|intern|initial|origin|systeme|fondamental|de depart|de base|recu|donne|que (?:tu|vous)|qu.on (?:t|vous)|ci-dessus|confidentiel)\w*|tout ce qui (?:precede|est ecrit)|texte (?:ci-dessus|precedent))",
        "prompt systeme instruction consigne directive regle configuration invite ordre precede texte ecrit",
    ),
    rule(
        "persona",
        r"\b(?:desormais|a partir de maintenant|dorenavant|des maintenant)[,]? (?:\w+ ){0,2}(?:tu|vous|agis|reponds|ignore|es|etes)\b|\btu es (?:maintenant|desormais)\b|\b(?:en|passe\w*|activ\w+|entr\w+|bascul\w+|ce) (?:\w+ ){0,2}?mode (?:maintenance|developpeur|debug|debogage|dieu|admin\w*|root|test|dan|sans restriction)\b|\b(?:agis|comporte-toi|fais|faites|imagine[zr]?|suppose[zr]?|pretend[sz]?|simule|joue)\b (?:comme (?:si )?|que |le role |semblant )~(?:limite|plafond|regle|restriction|politique|admin|developpeur|gerant|responsable|sans |n.existai|n.avai|autre ia|ia )",
        "desormais maintenant dorenavant mode agis comporte fais faites imagine suppose pretend simule joue",
    ),
    rule(
        "addressed_to_ai",
        rf"\b(?:note|message|instructions?|avis|attention|pour|a|rappel|consigne)\b[ :]{{1,3}}(?:pour |a |de )?(?:l.|la |le |les |tous |toute )?(?:ia|assistant(?:e|s)?|bot|chatbot|modele|agent (?:ia|virtuel|automatique)|intelligence artificielle|llm)\b~(?:{_ACT}|ignor|dois|doit|pre-?approuve|deja |sans |jamais|toujours|client)",
        "ia assistant bot modele agent intelligence llm",
    ),
    rule(
        "addressed_to_ai",
        r"\b(?:en lisant|si (?:tu lis|vous lisez)|quand (?:tu lis|vous lisez|tu liras)|apres avoir lu|lorsque (?:tu|vous) li(?:s|sez)) (?:ceci|cela|ce )~(?:remplac|approuv|rembours|ignor|envoi|dis|marqu|met|appell|execut|chang|modifi|repond|ajout)|\b(?:n.en (?:parle|parlez|informe)|ne (?:le )?(?:dis|dites|previens|prevenez|informe|mentionne)\w*|sans (?:prevenir|informer|le dire|en parler))\b (?:\w+ ){0,3}(?:client|utilisateur|acheteur|personne|humain|personnel)",
        "lis lu parle inform dis dites previen preven mentionn dire",
    ),
    rule(
        "pre_approved",
        rf"\b(?:pre-? ?(?:approuve|autorise|valide)|deja (?:valide|approuve|autorise))(?:e|s|es)?\b~(?:{_ACT}|sans|immediat|total|integral|complet)|\b{_ACT}~\bpre-? ?(?:approuve|autorise)|\b(?:rembours|approuv|accord|credit|trait|valid)\w*\b~\bsans (?:\w+ ){{0,2}}{_CHECKS}",
        "pre deja rembours approuv accord credit trait valid",
    ),
    rule(
        "staff_claim",
        rf"\b(?:je suis|c.est|ici|en tant que) (?:le |la |l.|un |une |ton |ta |votre |vos )?(?:\w+ )?(?:gerant\w*|responsable|proprietaire|patron\w*|directeur|directrice|chef\w*|superviseur\w*|manager|administrat\w+)\b~\b(?:magasin|boutique|entreprise|societe|systeme|support|service client|plateforme|entrepot|site)\b~~(?:{_ACT}|ordonne|exige|dois|devez|peux|pouvez|fais|ignor|contourn)|\b(?:je suis|en tant que) (?:le |la |l.|ton |ta |votre |un de (?:tes|vos) )(?:developpeu[rs]\w*|programmeu\w+|createur\w*|administrateur)\b|\b(?:je suis|en tant que) (?:developpeu[rs]\w*|programmeu\w+|createur|administrateur) (?:du|de la|de l.|de ce|de cet) ?(?:\w+ )?(?:systeme|bot|robot|assistant|boutique|magasin|ia|site)\b|\bcode (?:d.autorisation|de derogation|gerant|superviseur|employe)|\b(?:je )?(?:t.|vous )?autorise (?:le|la|ce|cette|un|a) ?(?:rembours|annul|virement)",
        "suis est ici tant code autorise",
    ),
    rule(
        "other_customers",
        r"\b(?:montr\w+|donn\w+|list\w+|export\w+|envoi\w+|envoy\w+|affich\w+|imprim\w+|revel\w+|acced\w+|cherch\w+|partag\w+|voir|veux|sors|dis|consult\w+|communiqu\w+|besoin)\b~\b(?:(?:tous les|autres?|n.importe quel|chaque|toutes les|d.un autre|d.autres) (?:\w+ )?(?:clients?|utilisateurs?|acheteurs?|personnes?|comptes)|(?:base de donnees|liste|fichier|donnees) (?:de |des )?(?:clients?|utilisateurs)|(?:commandes?|e-?mails?|adresses?|donnees|telephones?|coordonnees) (?:de|du|des) (?:autres|client c?-?\d|utilisateur \d|clients))",
        "client utilisateur acheteur personne compte base autre",
    ),
    rule(
        "forced_answer",
        r"\b(?:repond(?:s|ez)|di(?:s|tes)|ecri(?:s|vez))\b (?:\w+ ){0,2}?(?:seulement|uniquement|toujours|exactement|juste|simplement)\b (?:par |avec )?(?:le mot )?(?:[\"'“«]|approuve|oui|ok|confirme|fait|accepte)|\b(?:toujours|seulement) (?:accepte|dire oui|reponds|approuve)|\baccepte[rz]? toute (?:compensation|demande|reclamation)",
        "repond dis dites ecris ecrivez accepte dire approuve",
    ),
    rule(
        "limits_off",
        rf"\b(?:limites?|plafonds?|politiques?|regles?|restrictions?)\b~(?:ne s.appliqu\w+ (?:pas|plus)|n.exist\w+|(?:est|sont) (?:levee?s?|desactivee?s?|suspendue?s?|annulee?s?))|\bne (?:jamais |pas )?(?:transfere\w*|escalade\w*|refuse\w*|passe)\b ?(?:jamais |pas )?(?:a |au |vers )?(?:un |une )?(?:humain|personne|conseiller|client)|\b(?:saute|passe|evite|ignore|desactive|contourne)[rz]? (?:la |le |les |l.|toute |tout )?(?:\w+ )?{_CHECKS}",
        "limite plafond politique regle restriction ne saute passe evite ignore desactive contourne",
    ),
)

"""How customers word their wishes in four languages, as patterns over folded text (lower case, no accents)."""

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


# One line a language where they differ much.
PERSON = _any(
    r"\b(speak|talk|chat|connect|transfer|pass|get|want|need|give|put)\b.{0,30}\b(human|person|agent|representative)\b",
    r"\b(speak|talk|chat) (to|with) (someone|somebody|a supervisor|a colleague|a manager)\b",
    r"\breal (person|human)\b|^\W*(human|agent|person)\W*$",
    r"\b(hablar|pasar?me|comunicar?me|quiero|necesito)\b.{0,30}\b(persona|humano|agente|alguien|companero)\b",
    r"\b(parler|passer|joindre|veux|voudrais)\b.{0,30}\b(personne|humain|conseiller|quelqu'?un|agent)\b",
    r"\b(sprechen|mochte|will|brauche|verbinden)\b.{0,30}\b(mensch(en)?|person|mitarbeiter(in)?|jemand(em|en)?|berater)\b",
    r"\b(mit einem|an einen) (menschen|mitarbeiter)\b",
    # A double charge is nothing any tool can look into.
    r"\b(charged|billed|paid) (me )?(twice|two times|double)|double charge|cobrado dos veces|debite deux fois",
    r"(doppelt|zweimal) (abgebucht|berechnet|belastet)",
)
CANCEL = re.compile(r"\bcancel|\bcall off\b|\banul|\bannul|\bstorn|\babbestell")
ADDRESS = re.compile(r"\b(address|direccion|domicilio|adresse|anschrift|lieferadresse)\b")
CHANGE = _any(
    r"\b(change|update|correct|instead|new|send|ship|deliver)\b",
    r"\b(cambi\w*|actuali\w*|nuev\w*|enviar|envi[ae]\w*)\b",
    r"\b(chang\w*|modifi\w*|nouvel\w*|envoy\w*|livr\w*)\b",
    r"\b(ander\w*|neue?\w*|aktualisier\w*|liefer\w*)\b",
)
ACCOUNT = _any(
    r"\b(e-?mail|phone|telephone|account|name)\b",
    r"\b(correo|telefono|cuenta|nombre|courriel|compte|nom|telefon\w*|handynummer|konto|namen?)\b",
)
LABEL = _any(
    r"\b(return|send (it|them|this) back|return label|devol(ver|ucion)|etiqueta|retour\w*|renvoyer|etiquette)\b",
    r"\b(zuruck(schicken|senden|geben)|rucksende\w*|retoure|etikett)\b",
)
REFUND = _any(
    r"\b(refund\w*|money back|reimburs\w*|reembols\w*|devuelv\w*|dinero|rembours\w*)\b",
    r"\b(erstatt\w*|ruckerstatt\w*|geld zuruck)\b",
)
WRONG = _any(
    r"\bwrong (\w+)|not what i ordered|\b(equivocad|incorrect)|otro producto",
    r"mauvais(e)? (article|produit|taille|couleur)|pas (le bon|ce que j'ai)|\bfalsch",
)
MISSING = _any(
    r"never (been )?(arrived?|came|got|received|showed|deliver)|\bmissing\b|\blost\b",
    r"(not|n't|hasnt|didnt) (\w+ )?(arrive|receive|come|turn up|show up)",
    r"\bno (me |lo |la )?(ha |han |he )?(llegad|llego|recibi)|nunca (me )?(ha )?(llegad|llego|recibi)|perdid",
    r"(pas|jamais) (encore )?(recu|arrive|livre)|perdu|verloren|(nicht|nie|niemals) (an)?(gekommen|erhalten|geliefert)",
)
DAMAGED = _any(
    r"\b(damag|broke|crack|shatter|smash|defect|faulty|dented|torn|doesn't work|not working|scratch|leak|dead on)",
    r"\b(rot[oa]s?\b|danad|defectuos|agrietad|averiad|no funciona)",
    r"\b(casse|abime|endommage|defectueu|fissure|fele|ne (fonctionne|marche))",
    r"\b(kaputt|beschadigt|zerbrochen|defekt|gesprungen|riss|funktioniert nicht|zerkratzt)",
)
LATE = re.compile(r"\b(late|too long|tarde|en retard|retard|spat|zu spat)\b|\bdelay|\bretras|\bverspat")
TRACKING = _any(
    r"\bwhere('s| is| are)|\btrack|status|when (will|does|is)|\bdonde esta|seguimiento|cuando (llega|llegara)",
    r"\bou (est|en est)|\bsuivi|quand (arrive|vais)|\bwo (ist|bleibt|sind)|sendungs|wann kommt|\blieferstatus",
)
THANKS = _any(
    r"^\W*(thanks?|thank you|great|ok(ay)?|gracias|merci|danke|perfekt|perfecto|parfait|super)\b",
    r"^\W*(hi|hello|hola|bonjour|hallo)\W*$",
)
WHOLE = _any(
    r"\b(whole|entire|complete|full) order|\beverything\b|\ball (of it|items|the items|lines)",
    r"todo el pedido|pedido (entero|completo)|\btodo\b|toute la commande|commande entiere|\btout\b",
    r"ganze bestellung|gesamte bestellung|\balles\b",
)
GENERAL = _any(
    r"^\W*(how|what|which|can i|could i|do you|does|is it|are there|who|why|may i)\b",
    r"^\W*(como|que|cual|cuanto|puedo|se puede|cuando puedo)\b",
    r"^\W*(comment|quel|quelle|combien|puis-?je|peut-?on|est-ce|avez)\b",
    r"^\W*(wie|was|welche|kann (ich|man)|gibt es|darf ich|wann kann)\b",
)
OWN = re.compile(r"\b(my|mi|mis|mon|ma|mes|meine?[nrms]?)\b")
SHIPPING = re.compile(
    r"\b(shipping|postage|delivery (fee|cost|charge)s?|gastos de envio|envio|frais de (port|livraison)|versand\w*)\b"
)
ORDER_ID = re.compile(r"(?<![\w+@./-])(#?[0-9]{6,12}|#[A-Z]?[0-9]{3,12}|[A-Z][0-9]{6,12})(?![\w@])")

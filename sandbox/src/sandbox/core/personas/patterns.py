"""How customers word their wishes in four languages, as patterns over folded text (lower case, no accents)."""

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


# One line a language where they differ much.
_TALK = (
    r"(speak|talk|chat|contact|connect|transfer|direct|reach|call|hablar|pasar?me|comunicar?me|contact\w*|parler|passer|joindre|"
    r"sprechen|schreiben|verbinden|erreichen)\w*"
)
_WHO = (
    r"(person|persona|personne|human|agent|agente|operator|assistant|representative|manager|supervisor|someone|somebody|"
    r"colleague|alguien|conseiller|quelqu'?un|responsable|jemand(em|en)?|berater|chef)"
)
PERSON = _any(
    rf"\b{_TALK}\b.{{0,30}}\b{_WHO}\b|\b{_WHO}\b.{{0,20}}\b{_TALK}\b",
    r"\b(want|need|give me|get me|quiero|necesito|veux|voudrais|mochte|will|brauche)\b.{0,15}\b(persona?|personne)\b",
    r"\b(humans?|live agent|operator|real person|customer (service|support)|not a (bot|robot)|human being)\b",
    r"\b(humano|persona real|servicio al cliente|atencion al cliente|agente humano)\b",
    r"\b(humain|vraie personne|personne reelle|service client|pas .{0,12}un robot)\b",
    r"\b(menschen?|mitarbeiter(in)?|kundendienst|kundenservice|vorgesetzten?|nicht mit einem bot)\b",
    r"^\W*(agent|person|persona|personne)\W*$",
    # Double charges, exchanges and closing an account are nothing any tool can do.
    r"\b(charged|billed|paid) (me )?(twice|two times|double)|double charge|cobrado dos veces|debite deux fois",
    r"(doppelt|zweimal) (abgebucht|berechnet|belastet)",
    r"\bexchange\b|\bswap\b|umtausch|\bechang(e|er)\b",
    r"\b(close|delete|cancel) (my |the )?account|konto (loschen|schliessen)",
    r"(cerrar|borrar) (mi )?cuenta|fermer (mon )?compte",
)
CANCEL = _any(
    r"\bcancel|\bcall off\b|\banul|\bannul|\bstorn|\babbestell|\babbrech",
    r"don't (want|need) (the |my |this )?order|ya no (lo |la )?quiero|ne (la |le )?veux plus",
)
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
    r"\b(return|send (it|them|this) back|return label|devol(ver\w*|ucion)|etiqueta|retour\w*|renvoyer|etiquette)\b",
    r"\b(zuruck(schicken|senden|geben)|rucksende\w*|ruckgabe|retoure|etikett)\b|mandar de vuelta|ship .{0,20}back",
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
    r"(has|have|is|was) my (order|parcel|package|delivery)\b.{0,20}(arriv|ship|deliver|sent|dispatch)",
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

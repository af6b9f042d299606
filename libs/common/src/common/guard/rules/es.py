"""Spanish orders to the machine."""

# ruff: noqa: E501 - a pattern is read as one line

from common.guard.rules.rule import Rule, rule

_DROP = r"(?:ignor(?:a|e|es|ar|en|ando)|olvid(?:a|e|es|ar|en|ate)|omit(?:e|a|ir)|desestima|desobedece|anul(?:a|e|ar)|salta(?:te|r)?|desactiv(?:a|e|ar)|descarta|abandona|no (?:sigas|apliques|obedezcas|cumplas))"
_RULES = r"(?:instruccion(?:es)?|indicacion(?:es)?|ordenes (?:previas|anteriores|que)|reglas?|directrices|directiva|normas?|pautas|prompt|politicas?|restriccion(?:es)?|limites|limitaciones|filtros|filtro de (?:seguridad|contenido)|programacion|protocolos?|etic[oa]s?|medidas|lo (?:anterior|de arriba)|todo lo (?:anterior|que))"
_HARMLESS = r"(?!~\b(?:mis?|mi|nuestr[oa]s?|entrega|envio|lavado|montaje) (?:\w+ )?(?:instruccion|mensaje|indicacion|pedido|orden|nota))"
_ACT = r"(?:reembols\w+|devuelv\w+|aprueb\w+|aprob\w+|autori[sz]\w+|anul\w+|conced\w+|proces\w+|emit\w+|muestr\w+|ensen\w+|revel\w+|desbloque\w+|ejecut\w+|abon\w+|cancel\w+|marc\w+|cambi\w+)"
_CHECKS = r"(?:comprobar|comprobaci\w+|verific\w+|aprobacion|revis\w+|valid\w+|preguntar|preguntas|autorizacion|control\w*|confirm\w+)"

RULES: tuple[Rule, ...] = (
    rule(
        "override_instructions",
        rf"\b{_DROP}\b{_HARMLESS}~\b{_RULES}",
        "ignor olvid omit desestima desobedece anul salta desactiv descarta abandona no",
    ),
    rule(
        "override_instructions",
        r"\bnuev[oa]s? (?:instruccion(?:es)?|reglas?|ordenes|directriz|directrices|normas?)\s?:|\btu (?:nuev[oa]|unic[oa]|verdader[oa]) (?:tarea|mision|objetivo|papel|funcion|instruccion)",
        "nuev tu",
    ),
    rule(
        "prompt_extraction",
        r"\b(?:revela|muestra(?:me)?|ensena(?:me)?|imprime|repite|dime|dame|escribe|comparte|cual(?:es)? (?:es|son|fue|fueron|era|eran)|copia|resume|filtra|transcribe|describe|explica(?:me)?|puedes|podrias)\b~\b(?:(?:el |tu |tus |su |sus |las |los )?(?:\w+ )?(?:prompt|mensaje de sistema|instruccion(?:es)? (?:original|inicial|ocult|intern|secret|de sistema|del sistema|con (?:el|las) que|que (?:te|recib))\w*|(?:configuracion|reglas|directrices|consignas|pautas|ordenes) (?:ocult|intern|secret|original|inicial|que te|de arriba|del sistema|confidencial)\w*)|todo lo (?:anterior|de arriba)|texto (?:anterior|de arriba) )",
        "prompt sistema instruccion configuracion reglas directrices consignas pautas ordenes anterior arriba",
    ),
    rule(
        "persona",
        r"\ba partir de (?:ahora|este momento)[,]? (?:\w+ ){0,2}(?:eres|estas|actua|responde|ignora|tienes|vas|seras|debes|no tienes)|\bahora eres\b|\b(?:en|entra\w*|activa\w*|cambia\w*|pasa\w*|este) (?:\w+ ){0,2}?modo (?:mantenimiento|desarrollador|depuracion|debug|dios|admin\w*|root|prueba|dan|sin restricciones)\b|\b(?:actua|comportate|haz|finge|imagina|supon|simula|haz de cuenta)\b (?:como (?:si )?|que )~(?:limite|reglas|restriccion|politica|admin|desarrollador|gerente|encargad|sin |no existi|no hubiera|no tuvieras|ia |otro)",
        "partir ahora modo actua comportate haz finge imagina supon simula",
    ),
    rule(
        "addressed_to_ai",
        rf"\b(?:nota|mensaje|instruccion(?:es)?|aviso|atencion|para|a|recordatorio)\b[ :]{{1,3}}(?:para |a |de )?(?:la |el |los |las |al |todos )?(?:ia|asistente(?:s)?|bot|chatbot|modelo|agente (?:de ia|virtual|automatico)|inteligencia artificial|llm)\b~(?:{_ACT}|ignor|debes|debe|pre-?aprobad|ya |sin |nunca|siempre|cliente)",
        "ia asistente bot modelo agente inteligencia llm",
    ),
    rule(
        "addressed_to_ai",
        r"\b(?:al leer|si (?:estas )?le(?:es|yendo)|cuando leas|quien lea|tras leer) (?:esto|este)~(?:cambia|aprueba|reembolsa|ignora|envia|di|marca|actualiza|llama|ejecuta|responde|anade)|\b(?:no (?:se lo )?(?:avises|digas|informes|menciones|notifiques|cuentes)|sin (?:avisar|decir|informar)\w*)\b (?:\w+ ){0,2}(?:cliente|usuari|comprador|nadie|personal|humano)",
        "leer leas lea leyendo lees avis dig dec inform mencion notifi cuent",
    ),
    rule(
        "pre_approved",
        rf"\bpre-? ?(?:aprobad|autorizad|validad)[oa]s?\b~(?:{_ACT}|sin|inmediat|total|complet|\d)|\b{_ACT}~\bpre-? ?(?:aprobad|autorizad)|\b(?:reembols|devuelv|aprueb|apruéb|abon|conced|proces)\w*\b~\bsin (?:\w+ ){{0,2}}{_CHECKS}",
        "pre reembols devuelv aprueb abon conced proces",
    ),
    rule(
        "staff_claim",
        rf"\b(?:soy|habla|le habla|te habla|como) (?:el |la |un |una |tu |vuestr[oa] |su )?(?:\w+ )?(?:gerente|encargad[oa]|duen[oa]|propietari[oa]|director\w*|jef[ea]|supervisor\w*|administrador\w*|responsable)\b~\b(?:tienda|empresa|comercio|negocio|sistema|soporte|atencion|local|sucursal|plataforma|almacen)\b~~(?:{_ACT}|ordeno|exijo|debes|tienes|puedes|haz|anul|salt)|\b(?:soy|como) (?:el |la |tu |vuestr[oa] |su |quien te |uno de tus )(?:desarrollador\w*|programador\w*|creador\w*|programo|creo|administrador\w*|desarrollo)\b|\b(?:soy|como) (?:desarrollador|programador|creador|administrador)a? (?:del?|tuy[oa]|de l[oa]s?) (?:\w+ )?(?:sistema|bot|chatbot|asistente|tienda|ia)\b|\bcodigo de (?:anulacion|autorizacion|gerente|supervisor|empleado)|\b(?:yo )?(?:te )?autorizo (?:el|la|este|esta|un|a)\b",
        "soy habla como codigo autorizo",
    ),
    rule(
        "other_customers",
        r"\b(?:muestra\w*|dame|dime|lista\w*|exporta|envia\w*|ensena\w*|imprime|revela|accede|busca|comparte|pasame|ver|quiero|saca|consulta|necesito)\b~\b(?:(?:todos|demas|otr[oa]s?|cualquier|cada|cualquiera de)(?: los| las)? (?:\w+ )?(?:clientes?|usuari[oa]s?|compradores?|personas?|cuentas)|(?:base de datos|lista|listado|datos) de (?:los )?(?:clientes|usuarios)|(?:pedidos?|correos?|direccion(?:es)?|datos|telefonos?) (?:de|del) (?:otr|cliente c?-?\d|usuario \d|los (?:demas|clientes)|todos))",
        "cliente usuari comprador persona cuenta base otr demas todos",
    ),
    rule(
        "forced_answer",
        r"\b(?:responde|contesta|di|escribe)\b (?:\w+ ){0,2}?(?:solo|solamente|unicamente|siempre|exactamente)\b (?:con |que )?(?:la palabra )?(?:[\"'“«]|aprobado|si|ok|confirmado|hecho|aceptado)|\b(?:siempre|solo) (?:acepta|di que si|responde|contesta|aprueba)|\bacepta cualquier (?:compensacion|peticion|reclamacion|solicitud)",
        "responde contesta di escribe acepta aprueba",
    ),
    rule(
        "limits_off",
        rf"\b(?:limites?|topes?|politicas?|reglas?|restriccion(?:es)?)\b~(?:no (?:se )?(?:me )?aplican?|ya no|no exist\w+|(?:esta|estan|queda|quedan) (?:anulad|desactivad|suspendid|levantad)\w+)|\b(?:nunca|no|jamas) (?:derives|transfieras|escales|pases|rechaces)\b|\b(?:salta\w*|omite|evita|ignora|desactiva) (?:la |el |las |los |toda |todas |cualquier )?(?:\w+ )?{_CHECKS}",
        "limite tope politica regla restriccion derives transfieras escales pases rechaces salta omite evita ignora desactiva",
    ),
)

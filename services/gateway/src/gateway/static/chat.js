"use strict";
// Text from outside reaches the page only through textContent: nothing a customer, a model or an order note says is markup.

const WORDS = {
  en: {
    title: "Support", ai: "An AI assistant answers here. Ask for a person at any time.", person_here: "A person from our team answers here.",
    language: "Language", skip: "Skip to your message", welcome: "How would you like to start?", token: "Sign-in token",
    token_hint: "Signed in, you can ask about your orders. As a visitor you get general answers.", sign_in: "Sign in",
    visitor: "Continue as a visitor", conversation: "Conversation", handoff: "A person from our team has your conversation now.",
    your_message: "Your message", placeholder: "Write your message", send: "Send", person: "Ask for a person",
    person_text: "I would like to talk to a person.", keys: "Enter sends, Shift+Enter starts a new line.",
    customer: "You", agent: "AI assistant", staff: "Our team", system: "Store", sources: "Sources", working: "Working on it…",
    expired: "Your sign-in has ended. Please sign in again.", refused: "This did not work. Please sign in again or continue as a visitor.",
    fast: "That was a bit fast. Please try again in a moment.", failed: "Not sent. Please try again.", lost: "Connection lost, trying again…",
    refund: "Refund", cancel: "Cancellation", address_change: "Address change", return_label: "Return label", account_change: "Account change",
    pending: "being processed", awaiting_approval: "waiting for approval", succeeded: "done", rejected: "declined", failed_status: "did not work",
  },
  es: {
    title: "Atención al cliente", ai: "Aquí responde un asistente de IA. Puede pedir hablar con una persona cuando quiera.", person_here: "Aquí responde una persona de nuestro equipo.",
    language: "Idioma", skip: "Ir a su mensaje", welcome: "¿Cómo quiere empezar?", token: "Token de acceso",
    token_hint: "Con sesión iniciada puede preguntar por sus pedidos. Como visitante recibe respuestas generales.", sign_in: "Iniciar sesión",
    visitor: "Continuar como visitante", conversation: "Conversación", handoff: "Una persona de nuestro equipo tiene ahora su conversación.",
    your_message: "Su mensaje", placeholder: "Escriba su mensaje", send: "Enviar", person: "Hablar con una persona",
    person_text: "Quiero hablar con una persona.", keys: "Intro envía, Mayús+Intro empieza una línea nueva.",
    customer: "Usted", agent: "Asistente de IA", staff: "Nuestro equipo", system: "Tienda", sources: "Fuentes", working: "Trabajando en ello…",
    expired: "Su sesión ha terminado. Inicie sesión de nuevo.", refused: "No ha funcionado. Inicie sesión de nuevo o continúe como visitante.",
    fast: "Ha ido un poco rápido. Inténtelo de nuevo en un momento.", failed: "No enviado. Inténtelo de nuevo.", lost: "Conexión perdida, reintentando…",
    refund: "Reembolso", cancel: "Cancelación", address_change: "Cambio de dirección", return_label: "Etiqueta de devolución", account_change: "Cambio de cuenta",
    pending: "en curso", awaiting_approval: "a la espera de aprobación", succeeded: "hecho", rejected: "rechazado", failed_status: "no ha funcionado",
  },
  fr: {
    title: "Assistance", ai: "Un assistant IA répond ici. Demandez une personne à tout moment.", person_here: "Une personne de notre équipe répond ici.",
    language: "Langue", skip: "Aller à votre message", welcome: "Comment souhaitez-vous commencer ?", token: "Jeton de connexion",
    token_hint: "Connecté, vous pouvez parler de vos commandes. En tant que visiteur, vous recevez des réponses générales.", sign_in: "Se connecter",
    visitor: "Continuer en visiteur", conversation: "Conversation", handoff: "Une personne de notre équipe suit maintenant votre conversation.",
    your_message: "Votre message", placeholder: "Écrivez votre message", send: "Envoyer", person: "Parler à une personne",
    person_text: "Je voudrais parler à une personne.", keys: "Entrée envoie, Maj+Entrée commence une nouvelle ligne.",
    customer: "Vous", agent: "Assistant IA", staff: "Notre équipe", system: "Boutique", sources: "Sources", working: "En cours…",
    expired: "Votre session est terminée. Reconnectez-vous.", refused: "Cela n’a pas fonctionné. Reconnectez-vous ou continuez en visiteur.",
    fast: "C’était un peu rapide. Réessayez dans un instant.", failed: "Non envoyé. Réessayez.", lost: "Connexion perdue, nouvel essai…",
    refund: "Remboursement", cancel: "Annulation", address_change: "Changement d’adresse", return_label: "Étiquette de retour", account_change: "Changement de compte",
    pending: "en cours", awaiting_approval: "en attente d’accord", succeeded: "fait", rejected: "refusé", failed_status: "n’a pas fonctionné",
  },
  de: {
    title: "Kundendienst", ai: "Hier antwortet ein KI-Assistent. Sie können jederzeit nach einem Menschen fragen.", person_here: "Hier antwortet ein Mensch aus unserem Team.",
    language: "Sprache", skip: "Zu Ihrer Nachricht", welcome: "Wie möchten Sie beginnen?", token: "Anmelde-Token",
    token_hint: "Angemeldet können Sie nach Ihren Bestellungen fragen. Als Gast erhalten Sie allgemeine Antworten.", sign_in: "Anmelden",
    visitor: "Als Gast fortfahren", conversation: "Gespräch", handoff: "Ein Mensch aus unserem Team hat Ihr Gespräch übernommen.",
    your_message: "Ihre Nachricht", placeholder: "Schreiben Sie Ihre Nachricht", send: "Senden", person: "Mit einem Menschen sprechen",
    person_text: "Ich möchte mit einem Menschen sprechen.", keys: "Eingabe sendet, Umschalt+Eingabe beginnt eine neue Zeile.",
    customer: "Sie", agent: "KI-Assistent", staff: "Unser Team", system: "Laden", sources: "Quellen", working: "Wird bearbeitet…",
    expired: "Ihre Anmeldung ist abgelaufen. Bitte melden Sie sich neu an.", refused: "Das hat nicht geklappt. Melden Sie sich neu an oder fahren Sie als Gast fort.",
    fast: "Das war etwas schnell. Bitte gleich noch einmal versuchen.", failed: "Nicht gesendet. Bitte noch einmal versuchen.", lost: "Verbindung verloren, neuer Versuch…",
    refund: "Erstattung", cancel: "Stornierung", address_change: "Adressänderung", return_label: "Rücksendeetikett", account_change: "Kontoänderung",
    pending: "in Bearbeitung", awaiting_approval: "wartet auf Freigabe", succeeded: "erledigt", rejected: "abgelehnt", failed_status: "hat nicht geklappt",
  },
};

const $ = (id) => document.getElementById(id);
const state = { language: "en", token: null, conversation: null, last: 0, bubbles: new Map(), actions: new Map(), stop: null, sending: false };
const t = (word) => WORDS[state.language][word] ?? WORDS.en[word] ?? word;

function speak(language) {
  state.language = WORDS[language] ? language : "en";
  document.documentElement.lang = state.language;
  for (const node of document.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of document.querySelectorAll("[data-p]")) node.placeholder = t(node.dataset.p);
  $("language").value = state.language;
  document.title = t("title");
}

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function line(author, text) {
  const item = element("li", author);
  const body = element("span", "body", text);
  item.append(element("span", "name", t(author)), body);
  return append(item), { item, body };
}

function append(item) {
  const log = $("log");
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  log.append(item);
  if (atEnd) log.scrollTop = log.scrollHeight;
}

// One bubble per answered message: tokens grow it, `done` settles it.
function bubble(message, author) {
  if (!state.bubbles.has(message)) state.bubbles.set(message, line(author, ""));
  return state.bubbles.get(message);
}

const handlers = {
  status: (data) => { $("progress").textContent = data.text || t("working"); },
  token: (data) => {
    bubble(data.message_id, data.from ?? "agent").body.textContent += data.text ?? "";
    $("log").scrollTop = $("log").scrollHeight;
  },
  action: (data) => {
    const amount = data.amount ? ` ${data.amount} ${data.currency ?? ""}` : "";
    const status = data.status === "failed" ? t("failed_status") : t(data.status);
    const text = `${t(data.type)}${amount}: ${status}`;
    const known = state.actions.get(data.key);
    if (known) { known.textContent = text; return; }
    const item = element("li", "action", text);
    state.actions.set(data.key, item);
    append(item);
  },
  done: (data) => {
    $("progress").textContent = "";
    if (data.reply) {
      const { item, body } = bubble(data.message_id, data.from ?? "agent");
      body.textContent = data.reply;
      sources(item, data.citations);
    }
    if (data.handoff || data.route === "human") person(true);
    else if (data.from === "agent" && data.reply) person(false);
    $("log").scrollTop = $("log").scrollHeight;
  },
};

function sources(item, citations) {
  if (!Array.isArray(citations) || citations.length === 0 || item.querySelector(".sources")) return;
  const list = element("ul", "sources");
  list.setAttribute("aria-label", t("sources"));
  for (const { title, url, article_id: id } of citations) {
    const entry = element("li");
    // Only a web address becomes a link; anything else stays words.
    if (/^https?:\/\//i.test(url ?? "")) {
      const link = element("a", "", title || id || url);
      link.href = url; link.target = "_blank"; link.rel = "noopener noreferrer";
      entry.append(link);
    } else entry.textContent = title || id || "";
    list.append(entry);
  }
  item.append(list);
}

function person(here) {
  $("handoff").hidden = !here;
  $("who").dataset.t = here ? "person_here" : "ai";
  $("who").textContent = t($("who").dataset.t);
}

async function call(method, path, body, headers = {}) {
  const asked = { Accept: "application/json", ...headers };
  if (state.token) asked.Authorization = `Bearer ${state.token}`;
  if (body) asked["Content-Type"] = "application/json";
  return fetch(path, { method, headers: asked, body: body ? JSON.stringify(body) : undefined });
}

async function start(token) {
  $("sign-in-error").textContent = "";
  state.token = token;
  const opened = await call("POST", "/v1/conversations", { locale: state.language }).catch(() => null);
  if (!opened || opened.status !== 201) { $("sign-in-error").textContent = t("refused"); state.token = null; return; }
  state.conversation = (await opened.json()).conversation_id;
  enter();
}

function enter() {
  $("sign-in").hidden = true;
  $("chat").hidden = false;
  $("text").focus();
  listen();
}

function leave(word) {
  state.stop?.abort();
  state.token = null;
  $("chat").hidden = true;
  $("sign-in").hidden = false;
  $("sign-in-error").textContent = t(word);
  $("token").focus();
}

// The conversation's own stream carries every answer, also what comes unasked; it goes on after the last event seen.
async function listen() {
  state.stop = new AbortController();
  let pause = 500;
  while (state.token && !state.stop.signal.aborted) {
    try {
      const headers = { Authorization: `Bearer ${state.token}`, Accept: "text/event-stream" };
      if (state.last) headers["Last-Event-ID"] = String(state.last);
      const response = await fetch(`/v1/conversations/${state.conversation}/events`, { headers, signal: state.stop.signal });
      if (response.status === 401) { leave("expired"); return; }
      if (!response.ok) throw new Error(String(response.status));
      $("error").textContent = "";
      pause = 500;
      await read(response.body);
    } catch (problem) {
      if (state.stop.signal.aborted) return;
      $("error").textContent = t("lost");
    }
    await new Promise((wake) => setTimeout(wake, pause));
    pause = Math.min(pause * 2, 8000);
  }
}

async function read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    frames.forEach(take);
  }
}

function take(frame) {
  const fields = {};
  for (const row of frame.split("\n")) {
    const at = row.indexOf(":");
    if (at > 0) fields[row.slice(0, at)] = row.slice(at + 1).trimStart();
  }
  const id = Number(fields.id);
  if (!fields.data || id <= state.last) return;
  state.last = id;
  const handle = Object.hasOwn(handlers, fields.event) ? handlers[fields.event] : null;
  if (handle) handle(JSON.parse(fields.data));
}

async function send(text) {
  if (state.sending || !text.trim()) return;
  state.sending = true;
  $("send").disabled = true;
  $("error").textContent = "";
  const key = crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random()}`;
  let problem = "failed";
  // Shown before it is taken: an answer may stream in before the 202 does.
  const shown = line("customer", text);
  $("log").scrollTop = $("log").scrollHeight;
  // The same key on every try: however often it is sent, it is one message.
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const answer = await call("POST", `/v1/conversations/${state.conversation}/messages`, { text, locale: state.language }, { "Idempotency-Key": key }).catch(() => null);
    if (answer?.status === 202) { problem = null; break; }
    if (answer?.status === 401) { state.sending = false; $("send").disabled = false; shown.item.remove(); leave("expired"); return; }
    if (answer && answer.status < 500) { problem = answer.status === 429 ? "fast" : "failed"; break; }
    await new Promise((wake) => setTimeout(wake, 400 * 2 ** attempt));
  }
  state.sending = false;
  $("send").disabled = false;
  if (problem) { shown.item.remove(); $("error").textContent = t(problem); return; }
  if ($("text").value === text) $("text").value = "";
}

addEventListener("DOMContentLoaded", () => {
  speak((navigator.language || "en").slice(0, 2));
  $("language").addEventListener("change", (e) => speak(e.target.value));
  $("sign-in").addEventListener("submit", (e) => { e.preventDefault(); if ($("token").value.trim()) start($("token").value.trim()); });
  $("visitor").addEventListener("click", async () => {
    const welcome = await call("POST", "/v1/visitors").catch(() => null);
    if (welcome?.status !== 201) { $("sign-in-error").textContent = t(welcome?.status === 429 ? "fast" : "refused"); return; }
    await start((await welcome.json()).token);
  });
  $("compose").addEventListener("submit", (e) => { e.preventDefault(); send($("text").value); });
  $("text").addEventListener("keydown", (e) => {
    // Enter that ends a composition (Japanese, accents) isn't meant to send.
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); send($("text").value); }
  });
  $("person").addEventListener("click", () => send(t("person_text")));
});

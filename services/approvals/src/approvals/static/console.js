// The console shows text as text (textContent only), loads lists anew on every hint, and never guesses an outcome:
// what it shows after a decision is what the ledger answered.
const $ = (id) => document.getElementById(id);
const state = { token: "", me: null, queue: "approvals", items: { approvals: [], handoffs: [] }, at: 0, open: null, drafts: {} };

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child != null).map((child) => (child instanceof Node ? child : String(child))));
  return node;
}

function toast(text) {
  $("toast").textContent = text;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => ($("toast").textContent = ""), 5000);
}

async function api(method, path, body, headers = {}) {
  const response = await fetch(path, {
    method,
    headers: { Authorization: `Bearer ${state.token}`, ...(body ? { "Content-Type": "application/json" } : {}), ...headers },
    body: body ? JSON.stringify(body) : undefined,
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw Object.assign(new Error(answer.detail || `the server answered ${response.status}`), { status: response.status });
  return answer;
}

const money = (row) => (row.amount ? `${row.amount} ${row.currency || ""}` : "");
const words = (text) => String(text ?? "").replaceAll("_", " ");
const when = (text) => (text ? new Date(text).toLocaleString() : "");
const claimable = (h) => h.status === "waiting" || (h.status === "claimed" && h.lease_over);
const tag = (text) => el("span", { class: `tag ${text}` }, String(text).replaceAll("_", " "));
const facts = (pairs) => el("dl", {}, ...pairs.filter(([, v]) => v != null && v !== "").flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));

// ---- lists -------------------------------------------------------------------------------------------------------
async function load() {
  const [approvals, handoffs] = await Promise.all([api("GET", "/v1/approvals?status=awaiting_approval"), api("GET", "/v1/handoffs")]);
  state.items.approvals = approvals.items;
  state.items.handoffs = handoffs.items.filter((h) => h.status === "waiting" || h.status === "claimed");
  $("n-approvals").textContent = state.items.approvals.length;
  $("n-handoffs").textContent = state.items.handoffs.filter(claimable).length;
  drawList();
}

const idOf = (item) => item.key || item.id;

function drawList() {
  const items = state.items[state.queue];
  state.at = Math.max(0, Math.min(state.at, items.length - 1));
  for (const name of ["approvals", "handoffs"]) $(`tab-${name}`).setAttribute("aria-selected", String(name === state.queue));
  $("list").replaceChildren(
    ...(items.length ? items.map(state.queue === "approvals" ? approvalRow : handoffRow) : [el("li", { class: "quiet" }, "Nothing is waiting.")]),
  );
}

function row(item, index, what, right, more) {
  const chosen = state.open === idOf(item);
  return el("li", { role: "option", "aria-selected": String(chosen), onclick: () => choose(index) },
    el("span", { class: "what" }, what), right, el("span", { class: "more" }, more));
}
const approvalRow = (a, i) => row(a, i, `${a.kind.replaceAll("_", " ")} · order ${a.order_id || "—"}`, el("span", { class: "amount" }, money(a)), `${words(a.policy_reason)} · ${when(a.created_at)}`);
const handoffRow = (h, i) => row(h, i, `${h.reason} · ${h.customer_id || "visitor"}`, tag(h.status !== "claimed" ? h.priority : h.lease_over ? `left by ${h.owner}` : h.owner), `${h.queue} · ${h.channel} · ${when(h.opened_at)}`);

async function choose(index) {
  state.at = index;
  const item = state.items[state.queue][index];
  if (!item) return;
  state.open = idOf(item);
  drawList();
  await (state.queue === "approvals" ? openApproval(item.key) : openHandoff(item.id));
}

// ---- approvals ---------------------------------------------------------------------------------------------------
async function openApproval(key) {
  const a = await api("GET", `/v1/approvals/${encodeURIComponent(key)}`);
  if (state.open !== key) return;
  const waiting = a.status === "awaiting_approval";
  const note = el("textarea", { id: "note", "aria-label": "Note", placeholder: "Why (kept with the row)" });
  note.value = state.drafts[key] || "";
  note.addEventListener("input", () => (state.drafts[key] = note.value));
  const decide = (decision) => act(async () => {
    const after = await api("POST", `/v1/approvals/${encodeURIComponent(key)}/decision`, { decision, note: note.value }, { "If-Match": `"${a.version}"` });
    toast(`${key}: ${String(after.status || decision).replaceAll("_", " ")}`);
    delete state.drafts[key];
  }, key);
  const order = a.order || {};
  $("detail").replaceChildren(
    el("h2", {}, `${a.kind.replaceAll("_", " ")} ${money(a)}`), tag(a.status),
    el("h3", {}, "What will run"),
    facts([["Key", a.key], ["Customer", a.customer_id], ["Order", a.order_id], ["Line", a.line_id], ["Amount", money(a)], ["Arguments", JSON.stringify(a.args, null, 1)]]),
    el("h3", {}, "Why it waits"),
    facts([["Policy", `${words(a.policy_reason)} (version ${a.policy_version})`], ["Asked", when(a.created_at)], ["Decide before", when(a.expires_at)], ["Queue", a.queue], ["Requested by", a.requested_by]]),
    el("h3", {}, "The order"),
    Object.keys(order).length ? facts([["Status", order.status], ["Placed", when(order.placed_at)], ["Delivered", when(order.delivered_at)]]) : el("p", { class: "quiet" }, "Not shown for this kind."),
    lines(order.lines),
    waiting && state.me.role !== "viewer"
      ? el("div", {}, el("h3", {}, "Decision"), note, el("div", { class: "bar" },
          el("button", { class: "good", id: "approve", type: "button", onclick: () => decide("approve") }, "Approve (a)"),
          el("button", { class: "bad", id: "reject", type: "button", onclick: () => decide("reject") }, "Reject (x)")))
      : el("p", { class: "quiet" }, waiting ? "A viewer decides nothing." : `Decided${a.approved_by ? ` by ${a.approved_by}` : ""}.`),
  );
}

function lines(list) {
  if (!Array.isArray(list) || !list.length) return null;
  return el("table", {}, el("thead", {}, el("tr", {}, ...["Line", "Item", "Paid"].map((t) => el("th", { scope: "col" }, t)))),
    el("tbody", {}, ...list.map((l) => el("tr", {}, el("td", {}, l.line_id), el("td", {}, l.title || ""), el("td", { class: "amount" }, l.paid)))));
}

// ---- handoffs ----------------------------------------------------------------------------------------------------
async function openHandoff(id) {
  const h = await api("GET", `/v1/handoffs/${encodeURIComponent(id)}`);
  if (state.open !== id) return;
  const p = h.packet || {};
  const customer = p.customer || {};
  const mine = h.owner === state.me.staff && h.status === "claimed";
  const path = (verb) => `/v1/handoffs/${encodeURIComponent(id)}/${verb}`;
  const box = el("textarea", { id: "reply", "aria-label": "Reply to the customer", placeholder: "Reply to the customer" });
  box.value = state.drafts[id] || "";
  box.addEventListener("input", () => (state.drafts[id] = box.value));
  const send = () => act(async () => { await api("POST", path("reply"), { text: box.value }); delete state.drafts[id]; toast("Sent."); }, id);
  $("detail").replaceChildren(
    el("h2", {}, `${customer.name || h.customer_id || "Visitor"} · ${h.reason}`), tag(h.priority), " ", tag(h.status),
    el("h3", {}, "Next step"), el("p", {}, p.next_step || "—"),
    el("h3", {}, "Facts"),
    facts([["Customer", h.customer_id], ["Tier", customer.tier], ["Lifetime value", customer.lifetime_value], ["Open tickets", (p.open_tickets || []).map((t) => (typeof t === "string" ? t : JSON.stringify(t))).join(", ")], ["Could not be loaded", (customer.not_loaded || []).join(", ").replaceAll("_", " ")], ["Language", h.language], ["Channel", h.channel], ["Sentiment", p.sentiment], ["Verified", (p.verified_fields || []).join(", ")], ["Owner", h.owner]]),
    actionsTable(p.actions, (p.reason || {}).rows_current !== false),
    p.model_summary ? el("div", { class: "model" }, el("h3", {}, "Summary, written by the model"), el("p", {}, summaryText(p.model_summary))) : null,
    el("h3", {}, "Conversation"), talk(h.transcript && h.transcript.length ? h.transcript : p.transcript),
    mine
      ? el("div", {}, el("h3", {}, "Answer"), box, el("div", { class: "bar" },
          el("button", { class: "main", type: "button", onclick: send }, "Send (Ctrl+Enter)"),
          el("button", { id: "return", type: "button", onclick: () => act(() => api("POST", path("return"), {}), id) }, "Give back to the agent"),
          el("button", { id: "close", type: "button", onclick: () => act(() => api("POST", path("close"), {}), id) }, "Close")))
      : claimable(h) && state.me.role !== "viewer"
        ? el("div", { class: "bar" }, h.owner ? el("p", { class: "quiet" }, `${h.owner} has claimed it and gone silent.`) : null, el("button", { class: "main", id: "claim", type: "button", onclick: () => act(() => api("POST", path("claim"), {}), id) }, "Claim (c)"))
        : el("p", { class: "quiet" }, h.owner ? `With ${h.owner}.` : ""),
  );
  box.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(); });
}

const summaryText = (s) => (typeof s === "string" ? s : Array.isArray(s) ? s.join("\n") : s.text || JSON.stringify(s));
function actionsTable(actions, current) {
  if (!Array.isArray(actions) || !actions.length) return null;
  return el("div", {}, el("h3", {}, current ? "What the ledger said at the handoff" : "What was remembered (may be old)"), el("table", {}, el("tbody", {}, ...actions.map((a) =>
    el("tr", {}, el("td", {}, a.key), el("td", {}, tag(a.status)), el("td", { class: "amount" }, money(a)), el("td", {}, a.reference || a.external_ref || ""))))));
}
function talk(messages) {
  return el("ul", { class: "talk" }, ...(messages || []).map((m) => el("li", { class: m.from || "us" }, el("b", {}, m.from || "us"), m.text)));
}

async function act(work, id) {
  try {
    await work();
  } catch (error) {
    toast(error.message);
  }
  await load();
  if (state.open === id) await (state.queue === "approvals" ? openApproval(id) : openHandoff(id)).catch(() => {});
}

// ---- keyboard ----------------------------------------------------------------------------------------------------
function show(queue) {
  // What is open belongs to the queue it came from: a key pressed here must never decide something listed there.
  if (state.queue !== queue) {
    state.open = null;
    $("detail").replaceChildren(el("p", { class: "quiet empty" }, "Nothing chosen."));
  }
  state.queue = queue;
  state.at = 0;
  drawList();
}
document.addEventListener("keydown", (event) => {
  if ($("desk").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (["INPUT", "TEXTAREA"].includes(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const press = (id) => { if ($(id)) { $(id).click(); return true; } return false; };
  const keys = {
    j: () => choose(state.open ? state.at + 1 : 0), k: () => choose(Math.max(0, state.at - 1)), ArrowDown: () => keys.j(), ArrowUp: () => keys.k(),
    1: () => show("approvals"), 2: () => show("handoffs"), a: () => press("approve"), x: () => press("reject"), c: () => press("claim"),
    r: () => $("reply")?.focus(), n: () => $("note")?.focus(),
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});

// ---- live hints --------------------------------------------------------------------------------------------------
async function listen() {
  while (state.token) {
    try {
      const response = await fetch("/v1/changes", { headers: { Authorization: `Bearer ${state.token}` } });
      if (!response.ok) throw new Error();
      setLive(true);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let buffer = ""; ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        buffer += value;
        if (/\r?\n\r?\n/.test(buffer)) {
          if (buffer.includes("event: changed")) await load();
          buffer = buffer.slice(Math.max(buffer.lastIndexOf("\n\n"), buffer.lastIndexOf("\r\n\r\n")) + 2);
        }
      }
    } catch {
      // The list is loaded again as soon as the line is back.
    }
    setLive(false);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    if (state.token) await load().catch(() => {});
  }
}
function setLive(on) {
  $("live").textContent = on ? "live" : "offline";
  $("live").classList.toggle("on", on);
}

// ---- signing in --------------------------------------------------------------------------------------------------
async function signIn(token) {
  state.token = token.trim();
  try {
    state.me = await api("GET", "/v1/me");
  } catch (error) {
    state.token = "";
    sessionStorage.removeItem("staff-token");
    $("sign-in-error").textContent = error.message;
    return;
  }
  sessionStorage.setItem("staff-token", state.token);
  $("who").textContent = `${state.me.staff} · ${state.me.role}${state.me.role === "approver" ? ` up to ${state.me.ceiling}` : ""}`;
  $("sign-in").hidden = true;
  $("desk").hidden = $("sign-out").hidden = false;
  await load();
  $("list").focus();
  listen();
  // No hint says that a claim has run out.
  setInterval(() => load().catch(() => {}), 60_000);
}
$("sign-in").addEventListener("submit", (event) => { event.preventDefault(); signIn($("token").value); });
$("sign-out").addEventListener("click", () => { sessionStorage.removeItem("staff-token"); location.reload(); });
$("tab-approvals").addEventListener("click", () => show("approvals"));
$("tab-handoffs").addEventListener("click", () => show("handoffs"));
const kept = sessionStorage.getItem("staff-token");
if (kept) signIn(kept);

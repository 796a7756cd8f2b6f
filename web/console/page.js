// What the page shows, and what it does with orders.

const $ = (id) => document.getElementById(id);
const el = (name, attributes = {}, ...children) => {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in e) e[key] = value;
    else e.setAttribute(key, value);
  }
  e.append(...children.filter((c) => c != null));
  return e;
};

// ---- how values are written

const unknown = "–";
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const count = (n) => (n == null ? unknown : Math.abs(n) < 10_000 ? plain.format(n) : compact.format(n));
const whole = (n) => (n == null ? unknown : Math.round(n).toLocaleString("en"));
const rate = (n) => (n == null ? unknown : n >= 100 ? count(Math.round(n)) : plain.format(n));
const bytes = (n) => {
  if (n == null) return unknown;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${n >= 100 || !i ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
};
const seconds = (s) => (s == null ? unknown : !s ? "0" : s < 0.001 ? `${plain.format(s * 1e6)} µs` : s < 1 ? `${plain.format(s * 1000)} ms` : `${plain.format(s)} s`);
const ago = (s) => (s < 1 ? "now" : s < 90 ? `${Math.round(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : s < 129600 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`);
const since = (time, now) => ago(Math.max(0, (Date.parse(now) - Date.parse(time)) / 1000));
const oneLine = (text) => text.replace(/\s+/g, " ").trim();

// ---- what is asked for

const overviewQuery = `subscription Overview($after: DateTime) { overview(after: $after) { at here
  processes { id host role version started silent ready draining sockets streams operations groups deliveries executions commands requests opened
    latency { median high } queue queueLargest slowCloses refused resumed notResumed viewPosition viewLag busConnected busReconnects breakersOpen }
  log { last messages bytes maxBytes leader replicas current storeBytes storeMaxBytes }
  latency { median high }
  groups { field name document variables roles subject members processes }
  changes { sequence at kind type id bytes } } }`;
const operationsQuery = `subscription Operations($process: ID, $search: String!, $order: OperationOrder!) {
  operations(process: $process, search: $search, orderBy: $order, first: 50) { at total nodes {
    process connection id transport client subject roles expires name document variables begun delivered queue sequence } } }`;
const orders = {
  operation: `mutation($process: ID!, $connection: ID!, $operation: String!) { done: endOperation(process: $process, connection: $connection, operation: $operation) }`,
  connection: `mutation($process: ID!, $connection: ID!) { done: endConnection(process: $process, connection: $connection) }`,
  revoke: `mutation($subject: String!) { done: revoke(subject: $subject) }`,
};

// ---- state

const kept = 200; // looks
const few = 10; // operations that are shown at first
const key = "tidings.console.token";
let live, stopOperations, looks = [], listed = [], all = false;
const before = new Map(); // of each operation: how many it was given at the look before, and a second
const opened = new Set(); // operations whose details are shown

const plots = [
  [new Plot("Results a second", ["delivered", "executed"], rate), (p) => [p.deliveries, p.executions]],
  [new Plot("Work a second", ["commands", "queries, mutations"], rate), (p) => [p.commands, p.requests]],
  [new Plot("Connections", ["sockets", "event streams"], count), (p) => [p.sockets, p.streams]],
  [new Plot("Delivery latency", ["median", "99 in 100"], seconds, 0.003), null],
];
$("plots").append(...plots.map(([p]) => p.figure));

// ---- the processes that are chosen, as one

const chosen = (look) => look.processes.filter((p) => !$("pod").value || p.id === $("pod").value);
const sum = (list, name) => list.reduce((all, p) => (p[name] == null ? all : (all ?? 0) + p[name]), null);
const most = (list, name) => list.reduce((all, p) => (p[name] == null ? all : Math.max(all ?? 0, p[name])), null);
const latencyOf = (look) => ($("pod").value ? chosen(look)[0]?.latency : look.latency);

// ---- drawing

function drawOverview() {
  const look = looks.at(-1);
  if (!look) return;
  drawPods(look);
  drawConcerns(look);
  drawTiles(look);
  drawPlots();
  drawGroups(look);
  drawChanges(look);
  drawProcesses(look);
  drawFacts(look);
}

function drawPods(look) {
  const select = $("pod");
  const options = look.processes.map((p) => [p.id, `${p.host} · ${p.role}${p.id === look.here ? " (this one)" : ""}`]);
  const wanted = options.map((o) => o.join()).join("|");
  if (select.dataset.drawn === wanted) return;
  select.dataset.drawn = wanted;
  const value = select.value;
  select.replaceChildren(el("option", { value: "" }, `All processes (${options.length})`), ...options.map(([v, text]) => el("option", { value: v }, text)));
  select.value = options.some(([v]) => v === value) ? value : "";
  if (select.value !== value) askOperations();
}

// concerns are what an operator would want to know first.
function drawConcerns(look) {
  const list = [];
  const name = (p) => `${p.host} (${p.role})`;
  if (!look.log.leader) list.push(["bad", "The log does not answer: it has no leader, or cannot be reached."]);
  else if (look.log.current < look.log.replicas) list.push(["", `Only ${look.log.current} of ${look.log.replicas} servers have all of the log.`]);
  if (look.log.maxBytes && look.log.bytes / look.log.maxBytes > 0.8) list.push(["", `The log is ${Math.round((100 * look.log.bytes) / look.log.maxBytes)} % full.`]);
  for (const p of look.processes) {
    if (p.silent > 4) list.push(["bad", `${name(p)} has said nothing for ${ago(p.silent)}.`]);
    if (!p.busConnected) list.push(["bad", `${name(p)} is not connected to the bus.`]);
    if (p.draining) list.push(["", `${name(p)} drains: it sends its clients elsewhere.`]);
    else if (!p.ready) list.push(["bad", `${name(p)} is not ready.`]);
    if (p.breakersOpen.length) list.push(["bad", `${name(p)} does not send ${p.breakersOpen.join(", ")}: nobody has answered for a while.`]);
    if (p.viewLag > 1000) list.push(["", `The view of ${name(p)} is ${whole(p.viewLag)} messages behind the log.`]);
  }
  const text = JSON.stringify(list);
  if ($("concerns").dataset.drawn === text) return; // a reader of the screen is told of changes only
  $("concerns").dataset.drawn = text;
  $("concerns").replaceChildren(...list.map(([level, line]) => el("li", { className: level }, line)));
}

function drawTiles(look) {
  const p = chosen(look);
  const late = latencyOf(look), groups = sum(p, "groups"), operations = sum(p, "operations");
  const tiles = [
    ["Connections", count((sum(p, "sockets") ?? 0) + (sum(p, "streams") ?? 0)), `${count(sum(p, "sockets"))} sockets, ${count(sum(p, "streams"))} streams`],
    ["Live operations", count(operations), groups ? `${count(groups)} ${groups === 1 ? "group" : "groups"}, ${plain.format(operations / groups)} in each` : "no groups"],
    ["Deliveries a second", rate(sum(p, "deliveries")), `${rate(sum(p, "executions"))} executed`],
    ["Commands a second", rate(sum(p, "commands")), `${rate(sum(p, "requests"))} queries, mutations`],
    ["Delivery latency", late ? seconds(late.median) : unknown, late ? `${seconds(late.high)} for 99 in 100` : "nothing was delivered"],
    ["Waiting for clients", bytes(sum(p, "queue")), `${bytes(most(p, "queueLargest"))} for one of them`],
    ["View lag", whole(most(p, "viewLag")), most(p, "viewLag") === 0 ? "shows all of the log" : "messages of the log"],
  ];
  fill($("tiles"), tiles, ([title]) => title, () => {
    const value = document.createTextNode(""), note = el("small"), title = el("dt");
    return Object.assign(el("div", {}, title, el("dd", {}, value, note)), { parts: { title, value, note } });
  }, (e, [title, value, note]) => { write(e.parts.title, title); write(e.parts.value, value); write(e.parts.note, note); });
}

function drawPlots() {
  for (const [plot, values] of plots) {
    plot.set(looks.map((look) => {
      const t = Date.parse(look.at);
      if (!values) {
        const late = latencyOf(look);
        return { t, v: [late?.median ?? null, late?.high ?? null] };
      }
      const p = chosen(look);
      const all = p.map(values);
      return { t, v: [0, 1].map((i) => all.reduce((n, v) => (v[i] == null ? n : (n ?? 0) + v[i]), null)) };
    }));
  }
}

function drawGroups(look) {
  const operations = sum(look.processes, "operations"), groups = sum(look.processes, "groups");
  write($("sharing"), groups ? `${count(groups)} for ${count(operations)} operations` : "");
  $("no-groups").hidden = look.groups.length > 0;
  const top = look.groups[0]?.members ?? 1;
  fill($("groups"), look.groups.slice(0, 10), (g) => [g.document, g.variables, g.subject, g.roles].join(" "), () => {
    const parts = { title: el("b"), document: el("code", { className: "one soft" }), by: el("span"), members: el("span"), bar: el("span", { className: "fill" }) };
    return Object.assign(el("tr", {}, el("td", {}, el("div", {}, parts.title, parts.document)), el("td", { "data-name": "Seen by" }, parts.by), el("td", { className: "n", "data-name": "Subscribers" }, el("div", {}, parts.members, parts.bar))), { parts });
  }, (e, g) => {
    write(e.parts.title, g.name || g.field);
    write(e.parts.document, (g.variables ? g.variables + "  " : "") + oneLine(g.document));
    e.parts.document.title = g.document;
    write(e.parts.by, g.subject ? `${g.subject} alone` : g.roles.length ? g.roles.join(", ") : "everybody");
    write(e.parts.members, whole(g.members) + (g.processes > 1 ? ` on ${g.processes}` : ""));
    e.parts.bar.style.width = `${(100 * g.members) / top}%`;
  });
}

function drawChanges(look) {
  $("no-changes").hidden = look.changes.length > 0;
  fill($("changes"), look.changes.slice(0, 10), (c) => c.sequence, () => {
    const parts = { seq: el("td", { className: "n soft" }), kind: el("span", { className: "kind" }), id: el("small", { className: "one" }), size: el("td", { className: "n" }), when: el("td", { className: "n soft" }) };
    return Object.assign(el("tr", {}, parts.seq, el("td", {}, parts.kind, parts.id), parts.size, parts.when), { parts });
  }, (e, c) => {
    write(e.parts.seq, whole(c.sequence));
    write(e.parts.kind, `${c.type} ${c.kind.toLowerCase()}`);
    write(e.parts.id, c.id);
    e.parts.id.title = c.id;
    write(e.parts.size, whole(c.bytes));
    write(e.parts.when, since(c.at, look.at));
  });
}

function drawProcesses(look) {
  const workers = look.processes.filter((p) => p.role.includes("worker")).length;
  write($("process-count"), `${look.processes.length}, ${workers} of them with a worker`);
  fill($("processes"), look.processes, (p) => p.id, () => {
    const parts = { host: el("b"), about: el("small"), state: el("span", { className: "tag" }), bus: el("span", { className: "tag" }) };
    const cell = (name) => (parts[name] = el("td", { className: "n", "data-name": name }));
    return Object.assign(el("tr", {}, el("td", {}, el("div", {}, parts.host, parts.about)), el("td", { "data-name": "State" }, parts.state),
      cell("Connections"), cell("Operations"), cell("Deliveries/s"), cell("Commands/s"), cell("View lag"), el("td", { "data-name": "Bus" }, parts.bus), cell("Up")), { parts });
  }, (e, p) => {
    const api = p.sockets != null;
    write(e.parts.host, p.host);
    write(e.parts.about, `${p.role} · ${p.version} · ${p.id}${p.id === look.here ? " · this one" : ""}`);
    tag(e.parts.state, ...(p.silent > 4 ? ["silent", "bad"] : p.draining ? ["drains", "warn"] : p.ready ? ["ready", "good"] : ["not ready", "bad"]));
    tag(e.parts.bus, ...(p.breakersOpen.length ? ["breaker open", "bad"] : p.busConnected ? ["connected", "good"] : ["away", "bad"]));
    e.parts.bus.title = p.breakersOpen.join(", ");
    write(e.parts.Connections, api ? count(p.sockets + (p.streams ?? 0)) : "");
    write(e.parts.Operations, api ? count(p.operations) : "");
    write(e.parts["Deliveries/s"], api ? rate(p.deliveries) : "");
    write(e.parts["Commands/s"], p.role.includes("worker") ? rate(p.commands) : "");
    write(e.parts["View lag"], whole(p.viewLag));
    write(e.parts.Up, since(p.started, look.at));
  });
}

function drawFacts(look) {
  const p = chosen(look), log = look.log;
  const facts = [
    ["Log", log.leader ? `at ${whole(log.last)}` : "does not answer", log.messages == null ? "" : `${count(log.messages)} messages`],
    ["Its size", bytes(log.bytes), log.maxBytes ? `of ${bytes(log.maxBytes)}` : "without a limit of its own"],
    ["Copies of it", log.replicas == null ? unknown : `${log.current ?? unknown} of ${log.replicas}`, "servers that have all of it"],
    ["Store of the bus", bytes(log.storeBytes), log.storeMaxBytes ? `of ${bytes(log.storeMaxBytes)}` : ""],
    ["Slow clients cut off", whole(sum(p, "slowCloses")), "since the start"],
    ["Clients that resumed", whole(sum(p, "resumed")), "since the start"],
    ["That could not", whole(sum(p, "notResumed")), "expired, refused or failed"],
    ["Connections taken", `${rate(sum(p, "opened"))} a second`, `${whole(sum(p, "refused"))} refused since the start`],
    ["Lost the bus", whole(sum(p, "busReconnects")), "times, and found it again"],
  ];
  fill($("facts"), facts, ([title]) => title, () => {
    const value = document.createTextNode(""), note = el("small"), title = el("dt");
    return Object.assign(el("div", {}, title, el("dd", {}, value, note)), { parts: { title, value, note } });
  }, (e, [title, value, note]) => { write(e.parts.title, title); write(e.parts.value, value); write(e.parts.note, note); });
}

// ---- operations

// titleOf is what its client calls the operation, or its document.
const titleOf = (o) => o.name || o.document.match(/\bsubscription\s+(\w+)/)?.[1] || "unnamed";
const nameOf = (o) => `${o.process} ${o.connection} ${o.id}`;

function takeOperations(list) {
  const now = Date.parse(list.at), seen = new Set();
  for (const o of list.nodes) {
    const was = before.get(nameOf(o));
    o.rate = was && now > was.now ? ((o.delivered - was.delivered) * 1000) / (now - was.now) : null;
    before.set(nameOf(o), { now, delivered: o.delivered });
    seen.add(nameOf(o));
  }
  for (const name of before.keys()) if (!seen.has(name)) before.delete(name);
  write($("total"), `${whole(list.total)}${list.total > list.nodes.length ? `, the first ${list.nodes.length} shown` : ""}`);
  const searching = $("search").value.trim() !== "";
  write($("shown"), list.nodes.length ? "" : searching ? "Nothing that is live matches." : "No live operations. Subscriptions show up here as clients begin them.");
  drawOperations(list);
}

// drawOperations keeps rows in their places while somebody points at one of them.
function drawOperations(list) {
  const body = $("operations");
  let nodes = list.nodes;
  if (body.matches(":hover") || body.contains(document.activeElement)) {
    const by = new Map(nodes.map((o) => [nameOf(o), o]));
    const held = listed.map(nameOf).filter((n) => by.has(n));
    nodes = [...held.map((n) => by.get(n)), ...nodes.filter((o) => !held.includes(nameOf(o)))];
  }
  listed = nodes;
  if (!all) nodes = nodes.slice(0, few);
  $("more").hidden = listed.length <= few;
  write($("more"), all ? "Show fewer" : `Show all ${listed.length}`);
  const rows = nodes.flatMap((o) => (opened.has(nameOf(o)) ? [{ o }, { o, detail: true }] : [{ o }]));
  fill(body, rows, (r) => (r.detail ? "detail " : "") + nameOf(r.o), (r) => (r.detail ? detailRow(r.o) : operationRow()), (e, r) => (r.detail ? updateDetail(e, r.o, list.at) : updateOperation(e, r.o, list.at)));
}

function operationRow() {
  const parts = { button: el("button", { className: "open", type: "button" }), who: el("span"), about: el("small"), title: el("b", { className: "one" }), document: el("code", { className: "one soft" }), variables: el("code", { className: "one" }), delivered: el("span"), rate: el("small"), queue: el("span"), seq: el("span"), since: el("span"), transport: el("small") };
  parts.button.append(parts.who);
  const n = (name, ...children) => el("td", { className: "n", "data-name": name }, el("div", {}, ...children));
  parts.vars = el("td", { "data-name": "Variables" }, parts.variables);
  const row = el("tr", { className: "row" }, el("td", {}, el("div", {}, parts.button, parts.about)), el("td", {}, el("div", {}, parts.title, parts.document)), parts.vars,
    n("Delivered", parts.delivered, parts.rate), n("Queue", parts.queue), n("Sequence", parts.seq), n("Since", parts.since, parts.transport));
  row.addEventListener("click", () => {
    const marked = getSelection();
    if (!marked.isCollapsed && row.contains(marked.anchorNode)) return;
    const name = nameOf(row.operation);
    if (!opened.delete(name)) opened.add(name);
    drawOperations({ nodes: listed, at: row.at });
  });
  return Object.assign(row, { parts });
}

function updateOperation(e, o, at) {
  Object.assign(e, { operation: o, at });
  const p = e.parts;
  p.button.setAttribute("aria-expanded", opened.has(nameOf(o)));
  write(p.who, o.subject || "anonymous");
  write(p.about, o.roles.join(", ").toLowerCase() || o.client);
  write(p.title, titleOf(o));
  write(p.document, oneLine(o.document));
  write(p.variables, o.variables);
  p.vars.classList.toggle("none", !o.variables);
  write(p.delivered, whole(o.delivered));
  write(p.rate, o.rate ? `${rate(o.rate)} a second` : "");
  write(p.queue, bytes(o.queue));
  write(p.seq, whole(o.sequence));
  write(p.since, since(o.begun, at));
  write(p.transport, o.transport);
}

function detailRow(o) {
  const facts = el("dl"), document_ = el("pre", { className: "code" }), variables = el("pre", { className: "code" });
  const button = (text, className, act) => el("button", { type: "button", className, onclick: act }, text);
  const buttons = el("div", { className: "buttons" },
    button("End this operation", "plain", () => order("operation", row.operation)),
    button("Close the connection", "plain", () => order("connection", row.operation)));
  if (o.subject) buttons.append(button(`Revoke the tokens of ${o.subject}`, "danger", () => order("revoke", row.operation)));
  const row = el("tr", { className: "detail" }, el("td", { colSpan: 7 }, document_, variables, facts, buttons));
  return Object.assign(row, { parts: { facts, document_, variables } });
}

function updateDetail(e, o, at) {
  e.operation = o;
  write(e.parts.document_, o.document);
  write(e.parts.variables, o.variables);
  e.parts.variables.hidden = !o.variables;
  const host = looks.at(-1)?.processes.find((p) => p.id === o.process)?.host;
  const facts = [["Connection", o.connection], ["Operation", o.id || "the stream's only one"], ["From", o.client], ["Process", host ? `${host} (${o.process})` : o.process],
    ["Began", new Date(o.begun).toLocaleString()], ["Token ends", o.expires ? `in ${since(at, o.expires)}` : o.subject ? "never" : "no token"]];
  fill(e.parts.facts, facts, ([title]) => title, ([title]) => { const dd = el("dd"); return Object.assign(el("div", {}, el("dt", {}, title), dd), { dd }); }, (each, [, value]) => write(each.dd, value));
}

// ---- orders

const asks = {
  operation: (o) => ["End this operation?", `${o.subject || "An anonymous caller"} is told FORBIDDEN for ${titleOf(o)}; what else runs on the connection goes on.`, "End it"],
  connection: (o) => ["Close this connection?", `The connection ${o.connection} of ${o.subject || "an anonymous caller"} is closed with 1012 and everything on it ends. Stock clients come back at once and resume; to keep somebody out, revoke their tokens.`, "Close it"],
  revoke: (o) => [`Revoke the tokens of ${o.subject}?`, `All tokens of ${o.subject} that were issued until now stop counting, in all processes and for good. Open connections are closed with 4403.`, "Revoke them"],
};

async function order(what, o) {
  const [title, text, yes] = asks[what](o);
  write($("ask-title"), title);
  write($("ask-text"), text);
  write($("ask-yes"), yes);
  const answer = await new Promise((resolve) => {
    $("ask").returnValue = "";
    $("ask").onclose = () => resolve($("ask").returnValue);
    $("ask").showModal();
  });
  if (answer !== "yes") return;
  try {
    const { done } = await live.ask(orders[what], { process: o.process, connection: o.connection, operation: o.id, subject: o.subject });
    toast(done ? { operation: "The operation was ended.", connection: "The connection was closed.", revoke: `The tokens of ${o.subject} count no more.` }[what] : "It is not there any more.");
  } catch (e) {
    toast(`That did not work: ${e.message}`);
  }
}

let toasting;
function toast(text) {
  write($("toast"), text);
  clearTimeout(toasting);
  toasting = setTimeout(() => write($("toast"), ""), 6000);
}

// ---- helpers of drawing

// write changes a text only where it is another one.
function write(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

function tag(e, text, level) {
  write(e, text);
  e.className = `tag ${level}`;
}

// fill makes the children of parent those of the items, and keeps the elements of
// items that were there: focus and selection stay where they are.
function fill(parent, items, keyOf, make, update) {
  const known = new Map([...parent.children].map((e) => [e.dataset.key, e]));
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = String(keyOf(item));
    let e = known.get(name);
    known.delete(name);
    if (!e) (e = make(item)).dataset.key = name;
    update(e, item);
    if (e === at) at = at.nextElementSibling;
    else parent.insertBefore(e, at);
  }
  for (const e of known.values()) e.remove();
}

// ---- coming and going

function askOperations() {
  stopOperations?.();
  before.clear();
  stopOperations = live?.subscribe(operationsQuery, () => ({ process: $("pod").value || null, search: $("search").value.trim(), order: $("order").value }), (data) => data.operations && takeOperations(data.operations), toast);
}

function enter(token) {
  sessionStorage.setItem(key, token);
  $("door").hidden = true;
  $("refused").hidden = true;
  for (const id of ["room", "pods", "out"]) $(id).hidden = false;
  state("lost", "connecting…");
  const url = new URL("console/graphql", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  live = new Live(url, token, (now, reason) => {
    if (now === "refused") return leave(reason || "The token was refused.");
    $("room").classList.toggle("stale", now === "lost");
    state(now, now === "live" ? "live" : `connection lost${reason ? ": " + reason : ""} – trying again`);
  });
  live.subscribe(overviewQuery, () => ({ after: looks.at(-1)?.at ?? "1970-01-01T00:00:00Z" }), (data) => {
    if (!data.overview) return;
    looks.push(data.overview);
    looks.splice(0, looks.length - kept);
    scheduleDraw();
  }, toast);
  askOperations();
}

let drawing = 0;
function scheduleDraw() {
  if (!drawing && !document.hidden) drawing = setTimeout(() => { drawing = 0; drawOverview(); }, 0);
}
document.addEventListener("visibilitychange", scheduleDraw);

function leave(why) {
  live?.close();
  live = stopOperations = undefined;
  looks = [];
  listed = [];
  sessionStorage.removeItem(key);
  for (const id of ["tiles", "operations", "groups", "changes", "processes", "facts", "concerns"]) $(id).replaceChildren(); // what was seen is for who had the token
  for (const [plot] of plots) plot.set([]);
  delete $("concerns").dataset.drawn;
  $("door").hidden = false;
  for (const id of ["room", "pods", "out"]) $(id).hidden = true;
  $("refused").hidden = !why;
  write($("refused"), why ?? "");
  state("out", "not signed in");
  $("token").focus();
}

function state(now, text) {
  $("state").dataset.state = now;
  write($("state"), text);
}

$("login").addEventListener("submit", (e) => {
  e.preventDefault();
  const token = $("token").value.trim().replace(/^Bearer\s+/i, "");
  $("token").value = "";
  enter(token);
});
$("out").addEventListener("click", () => leave());
$("pod").addEventListener("change", () => { drawOverview(); askOperations(); });
$("more").addEventListener("click", () => {
  all = !all;
  drawOperations({ nodes: listed, at: looks.at(-1)?.at ?? new Date().toISOString() });
});
$("order").addEventListener("change", askOperations);
let typing;
$("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(askOperations, 250); });

const token = sessionStorage.getItem(key);
if (token) enter(token);
else $("token").focus();

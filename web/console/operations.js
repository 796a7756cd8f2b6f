// The live operations are drawn.

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

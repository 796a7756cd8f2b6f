// The overview is drawn.

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
    ["Connections", count((sum(p, "sockets") ?? 0) + (sum(p, "streams") ?? 0)), `${some(sum(p, "sockets"), "socket")}, ${some(sum(p, "streams"), "stream")}`],
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

// Coming and going: the page begins here.

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

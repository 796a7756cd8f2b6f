import { gql } from "@urql/core";
import { connect, type Transport } from "./live";
import { draw } from "./plot";
import { Readings, type Change, type Reading, type Return, type Sensor } from "./readings";
import { Tokens } from "./tokens";

const CHANGES = gql<{ sensorChanged: Change }>`
  subscription Changes {
    sensorChanged(snapshot: true) { kind id at sensor { name unit value measuredAt version } }
  }
`;
const HISTORY = gql<{ sensorHistory: { nodes: { sensor: Reading | null }[] } }, { id: string }>`
  query History($id: ID!) {
    sensorHistory(id: $id, first: 100) { nodes { sensor { name unit value measuredAt version } } }
  }
`;

const span = { least: 20_000, most: 2 * 60_000 }; // ms that a plot shows
const byId = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;
const [state, notice, entry] = [byId("state"), byId("notice"), byId<HTMLFormElement>("entry")];
const [url, token] = [byId<HTMLInputElement>("url"), byId<HTMLTextAreaElement>("token")];

const readings = new Readings();
Object.assign(window, { readings }); // for the browser's console
const plots = new Map<string, { card: HTMLElement; value: HTMLElement; svg: SVGSVGElement }>();
let transport: Transport = "WebSocket", up = false;

const tokens = new Tokens(why => {
  byId("why").textContent = why;
  token.value = "";
  entry.hidden = false;
});
url.value = sessionStorage.getItem("url") ?? new URLSearchParams(location.search).get("url") ?? "http://localhost:8080/graphql";
entry.addEventListener("submit", event => {
  event.preventDefault();
  const other = sessionStorage.getItem("url") !== url.value;
  sessionStorage.setItem("url", url.value);
  sessionStorage.setItem("token", token.value.trim());
  if (other && up) return location.reload();
  entry.hidden = true;
  tokens.set(token.value.trim());
});
byId("change").addEventListener("click", () => { entry.hidden = !entry.hidden; });
const stored = sessionStorage.getItem("token");
if (stored) tokens.set(stored);
else tokens.ask("The token stays in this tab.");
void begin();

async function begin(): Promise<void> {
  await tokens.ready();
  byId("change").hidden = byId("counts").hidden = false;
  state.textContent = "connecting";
  const client = connect(url.value, tokens, {
    connection: (now, by) => {
      if (up && !now) readings.cut(Date.now());
      if (now) readings.back(Date.now());
      [up, transport] = [now, by];
      show();
    },
    snapshot: () => readings.anew(),
  });
  client.subscription(CHANGES, {}).subscribe(({ data, error }) => {
    notice.hidden = !error;
    if (error) notice.textContent = `The service says: ${error.message}. Another token may help; then load the page anew.`;
    const made = data && readings.take(data.sensorChanged, Date.now());
    if (made) void client.query(HISTORY, { id: made.id }).then(({ data }) => {
      readings.before(made, data?.sensorHistory?.nodes.flatMap(n => n.sensor ?? []) ?? []);
    });
  });
  setInterval(() => { if (!document.hidden) show(); }, 250);
}

function show(): void {
  const now = Date.now();
  state.dataset.up = String(up);
  state.textContent = up ? "live by " + (transport === "SSE" ? "SSE: WebSockets are blocked" : transport) : `not connected: tries again by ${transport}`;
  byId("events").textContent = readings.events.toLocaleString("en");
  byId("missing").textContent = String(readings.missing);
  byId("twice").textContent = String(readings.twice);
  byId("reconnected").textContent = String(readings.returns.filter(r => r.back).length);
  byId("missing").classList.toggle("bad", readings.missing > 0);
  byId("twice").classList.toggle("bad", readings.twice > 0);
  byId("returns").replaceChildren(...readings.returns.filter(r => r.back).slice(-3).reverse().map(line));
  for (const [id, { card }] of plots) if (!readings.sensors.has(id)) { card.remove(); plots.delete(id); }
  const first = Math.min(...[...readings.sensors.values()].map(s => (s.points[0]?.at ?? Infinity) + readings.ahead));
  const from = now - Math.min(span.most, Math.max(span.least, now - first));
  for (const sensor of readings.sensors.values()) {
    const { value, svg } = plots.get(sensor.id) ?? add(sensor);
    value.textContent = `${sensor.points.at(-1)?.value ?? "–"} ${sensor.unit}`;
    draw(svg, { points: sensor.points, ahead: readings.ahead, returns: readings.returns, from, to: now });
  }
}

function line({ cut, back, caughtUp, missing, anew }: Return): HTMLElement {
  const li = document.createElement("li");
  const what = anew ? "away for longer than the log keeps changes, began anew" : `${caughtUp} events caught up, ${missing || "none"} missing`;
  li.textContent = `${new Date(back).toLocaleTimeString("en-GB")} reconnected after ${((back - cut) / 1000).toFixed(1)} s, ${what}`;
  return li;
}

function add({ id, name }: Sensor) {
  const card = document.createElement("article");
  card.innerHTML = `<h2></h2><p></p><svg role="img"></svg>`;
  const [title, value, svg] = [...card.children] as [HTMLElement, HTMLElement, SVGSVGElement];
  title.textContent = name;
  svg.setAttribute("aria-label", `${name} in the last two minutes`);
  byId("sensors").append(card);
  const made = { card, value, svg };
  plots.set(id, made);
  return made;
}

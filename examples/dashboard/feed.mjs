// Measures four things that are made up, by mutations: TOKEN=… npm run feed [-- ADDRESS READINGS-A-SECOND]
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

const [url = "http://localhost:8080/graphql", rate = "8"] = process.argv.slice(2);
const made = [
  { name: "Boiler", unit: "°C", value: 62, step: 0.6 },
  { name: "Outside", unit: "°C", value: 8, step: 0.15 },
  { name: "Pressure", unit: "bar", value: 1.8, step: 0.02 },
  { name: "Flow", unit: "l/min", value: 14, step: 0.5 },
];

/** Sends an operation until it is answered. A mutation has a key, so that it happens once however often it is sent. */
async function ask(query, variables) {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": JSON.stringify(randomUUID()), Authorization: "Bearer " + process.env.TOKEN };
  for (;;) {
    try {
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ query, variables }), signal: AbortSignal.timeout(10_000) });
      const { data, errors } = await response.json();
      const code = errors?.[0].extensions?.code;
      if (!errors) return data;
      if (code !== "UNAVAILABLE" && code !== "TIMEOUT") fail(code + ": " + errors[0].message);
    } catch (error) {
      console.error(`${url}: ${error.cause?.message ?? error.message}; trying again`);
    }
    await pause(500);
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

if (!process.env.TOKEN) fail("Say who measures: TOKEN=$(bin/api token --sub feed --roles SERVICE --data …) npm run feed");
const { sensors } = await ask(`{ sensors(first: 100) { nodes { id name value } } }`);
for (const m of made) {
  const there = sensors.nodes.find(s => s.name === m.name);
  const { name, unit, value } = m;
  m.id = there?.id ?? (await ask(`mutation ($input: CreateSensorInput!) { createSensor(input: $input) { id } }`, { input: { name, unit, value } })).createSensor.id;
  m.middle = m.value;
  m.value = there?.value ?? m.value;
}
console.log(`Measures ${made.map(m => m.name).join(", ")}, ${rate} readings a second. Ctrl-C ends it.`);
for (let i = 0; ; i++) {
  const m = made[i % made.length];
  m.value += (Math.random() - 0.5) * 2 * m.step + (m.middle - m.value) * 0.02;
  await ask(`mutation ($input: UpdateSensorInput!) { updateSensor(input: $input) { version } }`, { input: { id: m.id, value: Math.round(m.value * 100) / 100 } });
  await pause(1000 / rate);
}

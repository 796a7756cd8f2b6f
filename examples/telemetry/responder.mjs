// Looks after two devices. It answers, hears and publishes on the bus, in JSON:
// what is asked for is the object of the field's arguments, and what is answered
// and published has the field's type in schema.graphql.
import { connect, JSONCodec, nanos } from "nats";

const json = JSONCodec();
const nc = await connect({ servers: process.env.NATS ?? "nats://127.0.0.1:4222", maxReconnectAttempts: -1, waitOnFirstConnect: true });
const devices = new Map([
  ["boiler", { running: true, celsius: 70, threshold: 90 }],
  ["pump", { running: true, celsius: 40, threshold: 60 }],
]);
const error = (code, message, field) => ({ error: { code, message, field } });

/** Takes what comes on a subject; work gets the device's id, the device and the arguments. */
async function serve(subject, work) {
  for await (const m of nc.subscribe(subject, { queue: "telemetry" })) {
    const id = m.subject.split(".")[1];
    const device = devices.get(id);
    const answer = device ? work(id, device, json.decode(m.data)) : error("NOT_FOUND", `there is no device ${id}`, "id");
    if (m.reply) m.respond(json.encode(answer));
  }
}
serve("telemetry.*.status", (id, device) => ({ id, ...device }));
serve("telemetry.*.threshold", (id, device, { celsius }) => {
  if (celsius > 200) return error("BAD_USER_INPUT", "no device stands more than 200 degrees", "celsius");
  device.threshold = celsius;
  return { id, ...device };
});
serve("telemetry.*.command", (id, device, { command }) => { device.running = command === "START"; });

// Alarms are kept for a week, so that nobody misses one who was away.
await (await nc.jetstreamManager()).streams.add({ name: "ALARMS", subjects: ["alarms.*"], max_age: nanos(7 * 24 * 3600 * 1000), max_msgs: 100_000 });
console.log("ready");

setInterval(() => {
  for (const [device, d] of devices) {
    d.celsius = Math.round(10 * Math.max(20, d.celsius + (d.running ? 2 : -2) * Math.random())) / 10;
    nc.publish(`telemetry.${device}.reading`, json.encode({ device, celsius: d.celsius, at: new Date() }));
    if (!d.running || d.celsius <= d.threshold) continue;
    nc.jetstream().publish(`alarms.${device}`, json.encode({ device, text: "too hot: it was stopped", celsius: d.celsius })).catch(console.error);
    d.running = false;
  }
}, 1000);

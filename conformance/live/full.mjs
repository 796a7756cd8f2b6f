// One client has the only place; another comes back until it has it. Prints what
// the other was closed with and what it is told in the end.
import { createClient } from "graphql-ws";
import WebSocket from "ws";

const [url, token] = process.argv.slice(2);
const client = on => createClient({ url: url.replace("http", "ws"), webSocketImpl: WebSocket, connectionParams: { authToken: token }, retryAttempts: 10, on });
const ask = (c, query) => new Promise((resolve, reject) => {
  let last;
  c.subscribe({ query }, { next: r => { last = r; }, error: reject, complete: () => resolve(last) });
});

const first = client({});
const stop = first.subscribe({ query: "subscription { postChanged { id } }" }, { next() {}, error() {}, complete() {} });
await new Promise(resolve => first.on("connected", resolve));
const codes = [];
const second = client({
  closed: event => {
    if (codes.push(event.code) === 2) { stop(); first.dispose(); }
  },
});
const told = await ask(second, "{ __typename }").catch(e => ({ error: String(e) }));
console.log(JSON.stringify({ Codes: codes, Told: JSON.stringify(told) }));
process.exit(0);

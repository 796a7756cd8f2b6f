// Subscribes with each client to posts that nobody writes yet, and prints a line
// of JSON when it has learned a position from a heartbeat and for each event.
import { createClient as createSSE } from "graphql-sse";
import { createClient as createWS } from "graphql-ws";
import WebSocket from "ws";
import { resume } from "../../web/resume.js";

const [url] = process.argv.slice(2);
const query = `subscription { postChanged(filter: { title: { beginsWith: "mine" } }) { post { title } } }`;

const say = (client, data) => console.log(JSON.stringify({ client, ...data }));
const wait = () => new Promise(resolve => setTimeout(resolve, 100 + Math.random() * 200));
const retry = { retryAttempts: Infinity, retry: wait, retryWait: wait };

subscribe("graphql-ws", createWS(resume({
  url: url.replace("http", "ws"), webSocketImpl: WebSocket, shouldRetry: () => true, ...retry,
  on: { message: m => { if (m.type === "ping" && m.payload?.cursors) say("graphql-ws", { learned: true }); } },
})));
for (const [name, singleConnection] of [["graphql-sse", false], ["graphql-sse single", true]]) {
  subscribe(name, createSSE(resume({ url, singleConnection, headers: {}, ...retry, fetchFn: watched(name) })));
}

function subscribe(client, at) {
  at.subscribe({ query }, {
    next: result => result.errors ? say(client, { error: JSON.stringify(result.errors) }) : say(client, { title: result.data.postChanged.post.title }),
    error: error => say(client, { error: error?.message ?? JSON.stringify(error) ?? "an error" }),
    complete: () => say(client, { error: "completed" }),
  });
}

// watched is fetch; it says when a stream has told a position.
function watched(client) {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (init.headers?.accept !== "text/event-stream") return response;
    const text = new TextDecoder();
    const body = response.body.pipeThrough(new TransformStream({
      transform(chunk, out) {
        out.enqueue(chunk);
        if (/^(id: |: \{"cursors")/m.test(text.decode(chunk, { stream: true }))) say(client, { learned: true });
      },
    }));
    return { ok: response.ok, status: response.status, body };
  };
}

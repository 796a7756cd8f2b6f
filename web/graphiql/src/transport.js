// The ways to the service: queries and mutations by POST, subscriptions over a WebSocket or an event stream. A
// subscription whose connection ends goes on where it was, by its cursor.
import { getOperationAST, parse } from "graphql";
import { createClient as eventStream } from "graphql-sse";
import { createClient as webSocket } from "graphql-ws";
import { resume } from "../../resume.js";
import { begin, get, happened, set } from "./state.js";

const endpoint = new URL(location.pathname, location.href);

// fetcher sends what GraphiQL gives it.
export function fetcher(given, { headers } = {}) {
  const { request, live } = meant(given);
  return live ? { subscribe: sink => ({ unsubscribe: follow(request, headers, sink) }) } : ask(request, headers).then(noted);
}

// meant is what to send, and whether it is a subscription. GraphiQL knows a moment later than its editor which operation
// there is: who runs a tab at once would ask for the one of the tab before.
function meant(given) {
  try {
    const document = parse(given.query);
    const named = given.operationName && getOperationAST(document, given.operationName);
    const operation = named || getOperationAST(document); // the only one, if there is one
    if (!operation) return { request: given, live: false };
    return { request: { ...given, operationName: operation.name?.value }, live: operation.operation === "subscription" };
  } catch {
    return { request: given, live: false }; // the service says what is wrong with it
  }
}

// ask resolves to the result of a query or a mutation.
export async function ask(request, headers) {
  const accept = "application/graphql-response+json, application/json";
  const response = await fetch(endpoint, {
    method: "POST", credentials: "omit", headers: { ...said(headers), accept, "content-type": "application/json" }, body: JSON.stringify(request),
  });
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`The service answered ${response.status}: ${text.slice(0, 200)}`);
  }
}

// noted notes whether a result says that somebody must be known.
function noted(result) {
  const refused = !get().token.trim() && !!result.errors?.some(({ extensions }) => /^(UNAUTHENTICATED|FORBIDDEN)$/.test(extensions?.code));
  if (refused !== get().refused) set({ refused });
  return result;
}

// said are the headers of a request: those of the editor, and the token unless they say who calls.
function said(headers) {
  const all = {};
  for (const name in headers) all[name.toLowerCase()] = String(headers[name]);
  const token = get().token.trim().replace(/^Bearer\s+/i, "");
  return token && !all.authorization ? { ...all, authorization: "Bearer " + token } : all;
}

// follow subscribes until the function that it returns is called.
function follow(request, headers, sink) {
  begin();
  const open = get().transport === "sse" ? overEvents : overSocket;
  const client = open(said(headers));
  const show = together(results => {
    results.forEach(noted);
    happened(results);
    sink.next(results.at(-1));
  });
  let over = false;
  const end = (phase, detail, tell) => {
    if (over) return;
    over = true;
    show.now();
    set({ phase, detail });
    client.dispose();
    tell();
  };
  const stop = client.subscribe(request, {
    next: result => over || show(result),
    error: cause => {
      const error = failure(cause);
      end("failed", error.message, () => sink.error(noted(error)));
    },
    complete: () => end("completed", "", () => sink.complete()),
  });
  return () => end("stopped", "", stop);
}

// together delivers what comes within a moment at once: a snapshot may have thousands of records, and each delivery is
// laid out anew.
function together(deliver) {
  let waiting = [], timer = 0;
  const now = () => {
    clearTimeout(timer);
    timer = 0;
    if (waiting.length) deliver(waiting.splice(0));
  };
  return Object.assign(result => {
    waiting.push(result);
    timer ||= setTimeout(now, 50);
  }, { now });
}

// again keeps on trying, and counts what came back.
const again = {
  retryAttempts: Infinity,
  pause: async retries => {
    set({ phase: "waiting", detail: "" });
    await new Promise(resolve => setTimeout(resolve, Math.min(250 * 2 ** retries, 4000)));
  },
  connecting: () => set({ phase: get().phase === "waiting" ? "waiting" : "connecting" }),
  connected: retried => set({ phase: "connected", resumed: get().resumed + (retried ? 1 : 0), detail: "" }),
};

function overSocket(headers) {
  const address = new URL(endpoint);
  address.protocol = address.protocol.replace("http", "ws");
  return webSocket(resume({
    url: address.href, connectionParams: headers.authorization ? { Authorization: headers.authorization } : {},
    retryAttempts: again.retryAttempts, retryWait: again.pause,
    shouldRetry: end => end?.code !== 4403, // the token is not good, and no better the next time
    on: { connecting: again.connecting, connected: (_socket, _payload, retried) => again.connected(retried) },
  }));
}

function overEvents(headers) {
  let refused = null;
  return eventStream(resume({
    url: endpoint.href, headers: () => ({ ...headers }), credentials: "omit",
    retryAttempts: again.retryAttempts,
    retry: async retries => {
      if (refused) throw refused;
      await again.pause(retries);
    },
    fetchFn: async (address, init) => {
      const response = await fetch(address, init);
      if (response.status >= 400 && response.status < 500 && response.status !== 429) refused = new Error(await reason(response));
      return response;
    },
    on: { connecting: again.connecting, connected: again.connected },
  }));
}

async function reason(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).errors[0].message;
  } catch {
    return `${response.status}: ${text.slice(0, 200)}`;
  }
}

// failure makes an error of what ended a subscription: the errors of GraphQL, the end of a socket, or an error.
function failure(cause) {
  if (Array.isArray(cause)) return Object.assign(new Error(cause.map(error => error.message).join("; ")), { errors: cause });
  if (typeof cause?.code === "number") return new Error(`The socket was closed with ${cause.code}: ${cause.reason || "no reason was given"}`);
  return cause instanceof Error ? cause : new Error(String(cause));
}

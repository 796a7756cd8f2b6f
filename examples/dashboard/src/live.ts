// The client of the service: urql, with subscriptions by WebSocket, or by server-sent events where WebSockets are blocked.
import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { createClient as createSSE } from "graphql-sse";
import { createClient as createWS } from "graphql-ws";
import { resume } from "tidings-resume";
import type { Tokens } from "./tokens";

export type Transport = "WebSocket" | "SSE";

/** Where a subscription stands; what urql would tell of it too late, or mixed up. */
export interface Heard {
  connection(up: boolean, transport: Transport): void;
  /** The service tells all records anew: the subscription begins, or was away for longer than the log keeps changes. */
  snapshot(): void;
}

type Payload = { query: string; variables?: Record<string, unknown>; extensions?: Record<string, unknown> };
type Result = { data?: any; errors?: any; extensions?: any };
type Sink = { next(result: Result): void; error(error: any): void; complete(): void };
type Transporter = { subscribe(payload: Payload, sink: Sink): () => void };

const patience = 4000; // ms: how long a handshake, and the answer to a ping, may take
const silence = 30_000; // ms: how long an event stream may say nothing; it says something every 12 s
const attempts = 2; // that fail one after the other, while the service answers, until WebSockets are taken for blocked

/** @param url of the service: http or https, with /graphql. Nothing is sent before there is a token. */
export function connect(url: string, tokens: Tokens, heard: Heard): Client {
  const pause = async () => {
    await new Promise(resolve => setTimeout(resolve, 200 + Math.random() * 600));
    await tokens.ready();
  };
  const guarded: typeof fetch = async (input, init) => {
    const token = tokens.now;
    const response = await fetch(input, init);
    if (response.status === 401) tokens.refuse(token);
    return response;
  };
  const headers = () => ({ authorization: "Bearer " + tokens.now });
  const forward = fallback(
    blocked => webSocket(url, tokens, pause, up => heard.connection(up, "WebSocket"), blocked),
    () => eventStream(url, headers, guarded, pause, up => heard.connection(up, "SSE")),
    heard,
  );
  return new Client({
    url,
    fetch: guarded,
    fetchOptions: () => ({ headers: headers() }),
    preferGetMethod: false,
    exchanges: [fetchExchange, subscriptionExchange({ forwardSubscription: ({ query, variables }) => ({
      subscribe: sink => ({ unsubscribe: forward({ query: query!, variables: variables as Payload["variables"] }, sink as Sink) }),
    }) })],
  });
}

/** Subscribes by the first transport until it says that it is blocked, then by the second from where each subscription is. */
function fallback(first: (blocked: () => void) => Transporter, second: () => Transporter, heard: Heard) {
  const running = new Set<() => void>();
  let transporter = first(() => {
    transporter = second();
    for (const begin of running) begin();
  });
  return (payload: Payload, sink: Sink): (() => void) => {
    let cursor: string | undefined, using: Transporter, stop = () => {}, before = false;
    const begin = () => {
      const mine = (using = transporter);
      stop();
      stop = mine.subscribe(cursor ? { ...payload, extensions: { cursor } } : payload, {
        next: result => {
          cursor = result.extensions?.cursor ?? cursor;
          if (result.extensions?.snapshot?.begin) heard.snapshot();
          if (!result.data && !result.errors) return;
          sink.next(before ? alone(result) : result);
          before = true;
        },
        error: error => using === mine && sink.error(error),
        complete: () => using === mine && sink.complete(),
      });
    };
    running.add(begin);
    begin();
    return () => { running.delete(begin); stop(); };
  };
}

/** urql merges a result into the one before it, as deferred parts are: without this an error would stay for ever. In the
 * first result it takes a list of no errors for an error. */
function alone({ data, errors, extensions }: Result): Result {
  return { data, errors: errors ?? [], extensions: { snapshot: undefined, ...extensions } };
}

function webSocket(url: string, tokens: Tokens, pause: () => Promise<void>, tell: (up: boolean) => void, blocked: () => void): Transporter {
  let up = false, failed = false, failures = 0, over = false;
  let handshake = 0, answer = 0; // timers
  let socket: WebSocket | undefined, token = "";
  const client = createWS(resume({
    url: url.replace(/^http/, "ws"),
    connectionParams: () => ({ authToken: (token = tokens.now) }),
    retryAttempts: Infinity,
    retryWait: async () => {
      await pause();
      if (failed) await judge();
      failed = false;
    },
    shouldRetry: () => true, // a handshake that failed is an error and no close, which it would give up at
    keepAlive: 10_000, // a network may be gone without a word
    on: {
      connecting: () => { handshake = setTimeout(() => client.terminate(), patience); }, // some proxies say nothing
      opened: s => { socket = s as WebSocket; },
      connected: () => {
        clearTimeout(handshake);
        failures = 0;
        tell(up = true);
      },
      ping: received => { if (!received) answer = setTimeout(() => socket?.close(4408, "no answer"), patience); },
      pong: received => { if (received) clearTimeout(answer); },
      closed: event => {
        clearTimeout(handshake);
        clearTimeout(answer);
        if (over) return;
        const { code } = event as CloseEvent;
        failed = !up && (code === 1006 || code === 4499); // 4499: by terminate; the others were said over an open socket
        if (up) tell(up = false);
        if (code === 4403) tokens.refuse(token);
      },
    },
  }));
  /** WebSockets are blocked when the service answers each time that one could not be had: otherwise it is away, and comes back. */
  async function judge() {
    const answers = await fetch(url + "?query=%7B__typename%7D", { signal: AbortSignal.timeout(patience) }).then(r => r.status < 500, () => false);
    failures = answers ? failures + 1 : 0;
    if (failures < attempts) return;
    over = true;
    blocked();
    void Promise.resolve(client.dispose()).catch(() => {}); // that there is no connection
  }
  return client as Transporter;
}

function eventStream(url: string, headers: () => Record<string, string>, guarded: typeof fetch, pause: () => Promise<void>, tell: (up: boolean) => void): Transporter {
  return createSSE(resume({
    url,
    headers,
    fetchFn: async (input: RequestInfo, init: RequestInit) => watched(await guarded(input, init)),
    retryAttempts: Infinity,
    retry: () => { tell(false); return pause(); },
    on: { connected: () => tell(true) },
  })) as Transporter;
}

/** A stream that ends with an error when nothing has come for too long: a network may be gone without a word. */
function watched(response: Response): Response {
  let timer = 0;
  const watch = (c: TransformStreamDefaultController) => {
    clearTimeout(timer);
    timer = setTimeout(() => c.error(new Error("nothing has come for too long")), silence);
  };
  const through = new TransformStream({
    start: watch,
    transform: (chunk, c) => { watch(c); c.enqueue(chunk); },
    flush: () => clearTimeout(timer),
  });
  return new Response(response.body?.pipeThrough(through), response);
}

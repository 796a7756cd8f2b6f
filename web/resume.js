// resume(options) lets the clients of npm's graphql-ws and graphql-sse (both of its modes) go on where they were when
// a connection ends: what they repeat brings the cursor of the last event or heartbeat that it has seen, so that no
// event is missed and none comes twice. Copy this file. createClient(resume({ url, retryAttempts: Infinity, shouldRetry: () => true, ... }))
export function resume(options) {
  const ids = new Map(), signals = new WeakMap(); // cursors: of operations by id, and of those that are a request each
  const learn = cursors => { for (const id in cursors) if (ids.has(id)) ids.set(id, cursors[id]); };
  const since = (payload, cursor) => cursor ? { ...payload, extensions: { ...payload.extensions, cursor } } : payload;
  const again = (id, payload) => since(payload, ids.set(id, ids.get(id)).get(id));
  const message = m => { // graphql-ws: { id, type, payload }; graphql-sse: { event, data: { id, payload } }
    const { id, payload } = m.data ?? m, cursor = payload?.extensions?.cursor;
    if (id && (m.type ?? m.event) !== "next") ids.delete(id); else learn(cursor ? { [id]: cursor } : payload?.cursors);
    options.on?.message?.(m);
  };
  const opened = socket => { // of graphql-ws: all that it sends passes by here
    const send = socket.send.bind(socket);
    socket.send = text => {
      const m = JSON.parse(text);
      if (m.type === "complete") ids.delete(m.id);
      if (m.type === "connection_init") m.payload = { ...m.payload, cursors: true };
      send(JSON.stringify(m.type === "subscribe" ? { ...m, payload: again(m.id, m.payload) } : m));
    };
    options.on?.opened?.(socket);
  };
  const fetchFn = async (url, init) => { // of graphql-sse
    const body = init.body && JSON.parse(init.body), id = body?.extensions?.operationId;
    if (init.method === "DELETE") ids.delete(new URL(url, "http://-").searchParams.get("operationId"));
    if (body) init = { ...init, body: JSON.stringify(id ? again(id, body) : since(body, signals.get(init.signal))) };
    const response = await (options.fetchFn ?? fetch)(url, init);
    return response.ok && init.headers?.accept === "text/event-stream" ? { ok: true, body: seen(response.body.getReader(), init.signal) } : response;
  };
  async function* seen(reader, signal) { // a stream: its ids are cursors, and some of its comments hold them
    for (let rest = "", end = 0, utf8 = new TextDecoder(), chunk; !(chunk = await reader.read()).done; rest = rest.slice(end)) {
      end = (rest += utf8.decode(chunk.value, { stream: true })).lastIndexOf("\n\n") + 1;
      for (const [, told] of rest.slice(0, end).matchAll(/^: (\{"cursors":.*)$/gm)) learn(JSON.parse(told).cursors); // an event beside it is as good
      yield chunk.value; // which has been read when the next is asked for
      for (const [, id] of rest.slice(0, end).matchAll(/^id: (.*)$/gm)) signals.set(signal, id);
    }
  }
  return { ...options, fetchFn, on: { ...options.on, message, opened } };
}

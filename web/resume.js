// resume(options) lets the clients of npm's graphql-ws and graphql-sse (both of
// its modes) go on where they were when a connection ends: an operation that
// they repeat brings the cursor of the last event that it has seen, so that none
// is missed and none comes twice, whichever process answers. Copy this file.
//   createClient(resume({ url, retryAttempts: Infinity, ... }))
export function resume(options) {
  const ids = new Map(), signals = new WeakMap(); // cursors: of operations by id, and of those that are a request each
  const since = (payload, cursor) => cursor ? { ...payload, extensions: { ...payload.extensions, cursor } } : payload;
  const message = m => { // graphql-ws: { id, type, payload }; graphql-sse: { event, data: { id, payload } }
    const { id, payload } = m.data ?? m, cursor = payload?.extensions?.cursor;
    if (id && (m.type ?? m.event) !== "next") ids.delete(id);
    else if (id && cursor) ids.set(id, cursor);
    options.on?.message?.(m);
  };
  const opened = socket => { // of graphql-ws: all that it sends passes by here
    const send = socket.send.bind(socket);
    socket.send = text => {
      const m = JSON.parse(text);
      if (m.type === "complete") ids.delete(m.id);
      send(m.type === "subscribe" ? JSON.stringify({ ...m, payload: since(m.payload, ids.get(m.id)) }) : text);
    };
    options.on?.opened?.(socket);
  };
  const fetchFn = async (url, init) => { // of graphql-sse
    const body = init.body && JSON.parse(init.body), id = body?.extensions?.operationId;
    if (init.method === "DELETE") ids.delete(new URL(url, "http://-").searchParams.get("operationId"));
    if (body) init = { ...init, body: JSON.stringify(since(body, id ? ids.get(id) : signals.get(init.signal))) };
    const response = await (options.fetchFn ?? fetch)(url, init);
    return body && !id && response.ok ? { ok: true, body: seen(response.body.getReader(), init.signal) } : response;
  };
  async function* seen(reader, signal) { // the stream of one operation: its ids are cursors
    for (let rest = "", utf8 = new TextDecoder(), chunk; !(chunk = await reader.read()).done;) {
      yield chunk.value; // which has been read when the next is asked for
      const end = (rest += utf8.decode(chunk.value, { stream: true })).lastIndexOf("\n\n") + 1;
      for (const [, id] of rest.slice(0, end).matchAll(/^id: (.*)$/gm)) signals.set(signal, id);
      rest = rest.slice(end);
    }
  }
  return { ...options, fetchFn, on: { ...options.on, message, opened } };
}

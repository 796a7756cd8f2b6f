// One socket with operations that outlive it: graphql-transport-ws.

class Live {
  // changed is told "live", "lost" with a text, or "refused" with a reason, after
  // which nothing more is tried.
  constructor(url, token, changed) {
    Object.assign(this, { url, token, changed, operations: new Map(), numbers: 0, tries: 0, ended: false });
    this.open();
  }

  // subscribe lets next take the data of each result. variables are asked for each
  // time the operation begins, so that it can go on where it was. It returns what
  // ends it.
  subscribe(query, variables, next, failed = () => {}) {
    const id = String(++this.numbers);
    const op = { query, variables, next, failed };
    this.operations.set(id, op);
    this.begin(id, op);
    return () => {
      if (this.operations.delete(id)) this.send({ id, type: "complete" });
    };
  }

  // ask sends a mutation once; a connection that is lost meanwhile is an error.
  ask(query, variables) {
    return new Promise((resolve, reject) => {
      if (!this.acknowledged) return reject(new Error("there is no connection"));
      const id = String(++this.numbers);
      const done = (settle, value) => { this.operations.delete(id); settle(value); };
      this.operations.set(id, { once: true, next: (data) => done(resolve, data), failed: (text) => done(reject, new Error(text)) });
      this.send({ id, type: "subscribe", payload: { query, variables } });
    });
  }

  close() {
    this.ended = true;
    clearTimeout(this.later);
    clearTimeout(this.silence);
    this.socket?.close(1000);
  }

  open() {
    this.acknowledged = false;
    const socket = this.socket = new WebSocket(this.url, "graphql-transport-ws");
    this.listen();
    socket.onopen = () => this.send({ type: "connection_init", payload: { authToken: this.token } });
    socket.onmessage = (e) => { if (socket === this.socket) { this.listen(); this.receive(JSON.parse(e.data)); } };
    socket.onclose = (e) => { if (socket === this.socket) this.lost(e.code, e.reason); };
  }

  // listen gives up a connection on which nothing has come for so long: what
  // is shown comes every second.
  listen() {
    clearTimeout(this.silence);
    const socket = this.socket;
    this.silence = setTimeout(() => { socket.onclose = null; socket.close(); if (socket === this.socket) this.lost(0, "no answer"); }, 10_000);
  }

  receive(m) {
    const op = this.operations.get(m.id);
    switch (m.type) {
      case "connection_ack":
        this.acknowledged = true;
        this.tries = 0;
        this.changed("live");
        for (const [id, each] of this.operations) this.begin(id, each);
        break;
      case "ping": this.send({ type: "pong" }); break;
      case "next":
        if (m.payload.errors) op?.failed(m.payload.errors[0].message);
        else op?.next(m.payload.data);
        break;
      case "error": this.operations.delete(m.id); op?.failed(m.payload[0].message); break;
    }
  }

  begin(id, op) {
    if (this.acknowledged && !op.once) this.send({ id, type: "subscribe", payload: { query: op.query, variables: op.variables() } });
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  lost(code, reason) {
    clearTimeout(this.silence);
    if (this.ended) return;
    this.acknowledged = false;
    for (const op of [...this.operations.values()]) if (op.once) op.failed("the connection was lost; what was wanted may have happened");
    if (code === 4403 || code === 4401) {
      this.ended = true;
      return this.changed("refused", reason);
    }
    const wait = Math.min(8000, 400 * 2 ** this.tries++) * (0.7 + Math.random() * 0.6);
    this.changed("lost", reason);
    this.later = setTimeout(() => this.open(), wait);
  }
}

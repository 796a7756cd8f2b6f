// Speaks each protocol by the clients that others wrote, over connections that
// stay. Each check is printed as a line of JSON.
import assert from "node:assert/strict";
import { ApolloClient, InMemoryCache, gql } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { WebSocketLink } from "@apollo/client/link/ws";
import { Client, subscriptionExchange } from "@urql/core";
import { createClient as createSSE } from "graphql-sse";
import { createClient as createWS } from "graphql-ws";
import { SubscriptionClient } from "subscriptions-transport-ws";
import WebSocket from "ws";

globalThis.WebSocket ??= WebSocket; // Apollo looks for it when it has to tell of an error
const [url, token] = process.argv.slice(2);
const socket = url.replace("http", "ws");
const ws = (given = token) => createWS({ url: socket, webSocketImpl: WebSocket, connectionParams: { authToken: given }, retryAttempts: 0 });
const sse = (more, given = token) => createSSE({ url, headers: { authorization: "Bearer " + given }, retryAttempts: 0, ...more });
const old = (given = token) => new SubscriptionClient(socket, { reconnect: false, connectionParams: { authToken: given } }, WebSocket);
const plain = transport => ({
  subscribe: (query, sink) => transport.subscribe({ query }, sink),
  close: () => transport.dispose(),
});

// Each makes a client: subscribe(query, sink) returns what stops it.
const clients = {
  "graphql-ws": () => plain(ws()),
  "graphql-sse": () => plain(sse()),
  "graphql-sse single": () => plain(sse({ singleConnection: true })),
  "subscriptions-transport-ws": () => {
    const client = old();
    return {
      subscribe(query, sink) { const s = client.request({ query }).subscribe(sink); return () => s.unsubscribe(); },
      close: () => client.close(),
    };
  },
  "Apollo GraphQLWsLink": () => { const client = ws(); return { ...apollo(new GraphQLWsLink(client)), close: () => client.dispose() }; },
  "Apollo WebSocketLink": () => { const client = old(); return { ...apollo(new WebSocketLink(client)), close: () => client.close() }; },
  "urql graphql-ws": () => urql(ws()),
  "urql graphql-sse": () => urql(sse()),
};

const checks = {
  async "is completed by the service"(client) {
    const { results } = await all(client, "subscription { count(target: 3) }");
    assert.deepEqual(results.map(r => r.data.count), [1, 2, 3]);
  },
  async "queries and mutates"(client, name) {
    const title = "by " + name;
    const made = await all(client, `mutation { createPost(input: {title: "${title}"}) { id title authorId } }`);
    assert.equal(made.results[0]?.data.createPost.title, title, text(made));
    assert.equal(made.results[0].data.createPost.authorId, "alice");
    const read = await all(client, `{ post(id: "${made.results[0].data.createPost.id}") { title } }`);
    assert.equal(read.results[0].data.post.title, title);
  },
  async "is told what is wrong with an operation"(client) {
    const { results, error } = await all(client, "subscription { nothing }");
    assert.match(text(error ?? results), /nothing|400/); // graphql-sse shows the status alone
  },
  async "is told what failed in a field"(client) {
    const { results, error } = await all(client, `mutation { updateUser(input: {id: "nobody", name: "x"}) { id } }`);
    assert.match(text(error ?? results), /NOT_FOUND|FORBIDDEN/);
  },
  async "stops one of its operations"(client, name) {
    const titles = [], others = [];
    const watch = list => client.subscribe("subscription { postChanged { post { title } } }", sink(r => list.push(r.data.postChanged.post.title)));
    const stop = watch(titles), stopOther = watch(others);
    let n = 0;
    const until = async done => { while (!done()) { await post(`${name} ${++n}`); await pause(30); } };
    await until(() => titles.length > 0 && others.length > 0);
    stop();
    await pause(300);
    const seen = titles.length, before = others.length;
    await until(() => others.length > before + 2);
    assert.equal(titles.length, seen);
    stopOther();
  },
  async "runs many operations at a time"(client) {
    const runs = await Promise.all(Array.from({ length: 5 }, () => all(client, "subscription { count(target: 2) }")));
    for (const { results } of runs) assert.deepEqual(results.map(r => r.data.count), [1, 2]);
  },
};

for (const [name, make] of Object.entries(clients)) {
  for (const [what, check] of Object.entries(checks)) {
    const client = make();
    let error;
    try {
      await Promise.race([check(client, name), pause(20_000).then(() => { throw new Error("it took too long"); })]);
    } catch (e) {
      error = String(e?.stack ?? text(e));
    }
    console.log(JSON.stringify({ Name: `${name} ${what}`, Error: error }));
    await client.close();
  }
}
process.exit(0);

function pause(ms) { return new Promise(resolve => setTimeout(resolve, ms)); }

function text(value) { return value instanceof Error ? value.message + JSON.stringify(value) + text(value.cause) : JSON.stringify(value); }

function sink(next) { return { next, error() {}, complete() {} }; }

// all gathers what an operation gives until it ends.
function all(client, query) {
  return new Promise(resolve => {
    const results = [];
    client.subscribe(query, { next: r => results.push(r), error: error => resolve({ results, error }), complete: () => resolve({ results }) });
  });
}

async function post(title) {
  const response = await fetch(url, {
    method: "POST", headers: { "content-type": "application/json", authorization: "Bearer " + token },
    body: JSON.stringify({ query: "mutation($t: String!) { createPost(input: {title: $t}) { id } }", variables: { t: title } }),
  });
  await response.json();
}

// apollo sends every kind of operation through the link.
function apollo(link) {
  const client = new ApolloClient({ cache: new InMemoryCache(), link });
  return {
    subscribe(query, sink) {
      if (query.startsWith("subscription")) {
        const s = client.subscribe({ query: gql(query), fetchPolicy: "no-cache" }).subscribe({
          ...sink, next: r => r.error ? sink.error(r.error) : sink.next(r),
        });
        return () => s.unsubscribe();
      }
      const run = query.startsWith("mutation") ? client.mutate({ mutation: gql(query) }) : client.query({ query: gql(query), fetchPolicy: "no-cache" });
      run.then(r => { sink.next(r); sink.complete(); }, sink.error);
      return () => {};
    },
  };
}

function urql(transport) {
  const forwardSubscription = request => ({ subscribe: sink => ({ unsubscribe: transport.subscribe({ query: request.query, variables: request.variables }, sink) }) });
  const client = new Client({ url, exchanges: [subscriptionExchange({ forwardSubscription, enableAllOperations: true })], preferGetMethod: false });
  return {
    subscribe(query, sink) {
      const take = r => {
        if (r.error) sink.error(r.error);
        else if (r.data) sink.next(r);
      };
      if (query.startsWith("subscription")) {
        const s = client.subscription(query, {}).subscribe(r => {
          if (r.hasNext === false && !r.error) sink.complete(); // with the last result, once more
          else take(r);
        });
        return () => s.unsubscribe();
      }
      const run = query.startsWith("mutation") ? client.mutation(query, {}) : client.query(query, {}, { requestPolicy: "network-only" });
      run.toPromise().then(r => { take(r); sink.complete(); });
      return () => {};
    },
    close: () => transport.dispose(),
  };
}

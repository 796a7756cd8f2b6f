// Subscribes to the changes of posts with each client while its tokens end, are
// renewed, or are revoked, and prints a line of JSON for each event, for each
// connection that opens or closes, and when a client gives up.
import { ApolloClient, InMemoryCache, gql } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { WebSocketLink } from "@apollo/client/link/ws";
import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { createClient as createSSE } from "graphql-sse";
import { createClient as createWS } from "graphql-ws";
import { SubscriptionClient } from "subscriptions-transport-ws";
import WebSocket from "ws";
import { resume } from "../../web/resume.js";
import { resumeOld } from "./resume_old.mjs";

globalThis.WebSocket ??= WebSocket; // Apollo looks for it when it has to tell of an error
const [url, issuer] = process.argv.slice(2);
const socketURL = url.replace("http", "ws");
const query = `subscription { postChanged { kind post { title } } }`;
const streamToken = "x-graphql-event-stream-token";

const say = (client, data) => console.log(JSON.stringify({ client, ...data }));
const wait = () => new Promise(resolve => setTimeout(resolve, 100 + Math.random() * 200));
const seconds = n => new Promise(resolve => setTimeout(resolve, n * 1000));

// fetched is a token that was made for the client just now.
const fetched = async client => (await fetch(issuer + "?client=" + encodeURIComponent(client))).text();
// kept is the first one, for ever.
const kept = client => { const token = fetched(client); return () => token; };

const retry = retryAttempts => ({ retryAttempts, retry: wait, retryWait: wait });

function ws(client, token, more = retry(Infinity), opened = () => {}) {
  return createWS(resume({
    url: socketURL, webSocketImpl: WebSocket, connectionParams: async () => ({ authToken: await token(client) }), ...more,
    on: { opened: socket => { say(client, { opened: true }); opened(socket); }, closed: event => say(client, { closed: event.code }) },
  }));
}

function sse(client, token, singleConnection, more = retry(Infinity)) {
  return createSSE(resume({
    url, singleConnection, headers: async () => ({ authorization: "Bearer " + await token(client) }), ...more,
    on: { connected: () => say(client, { opened: true }) },
  }));
}

function old(client, token) {
  const made = new SubscriptionClient(socketURL, { reconnect: true, connectionParams: async () => ({ authToken: await token(client) }) }, WebSocket);
  made.onConnected(() => say(client, { opened: true }));
  made.onReconnected(() => say(client, { opened: true }));
  return resumeOld(made);
}

// Those that fetch a token for each connection.
for (const [name, make] of Object.entries({
  "graphql-ws": client => direct(ws(client, fetched)),
  "graphql-sse": client => direct(sse(client, fetched, false)),
  "graphql-sse single": client => direct(sse(client, fetched, true)),
  "subscriptions-transport-ws": client => observed(old(client, fetched).request({ query })),
  "Apollo GraphQLWsLink": client => apollo(new GraphQLWsLink(ws(client, fetched))),
  "Apollo WebSocketLink": client => apollo(new WebSocketLink(old(client, fetched))),
  "urql graphql-ws": client => urql(ws(client, fetched)),
  "urql graphql-sse": client => urql(sse(client, fetched, false)),
})) start("expiring " + name, make);

// Those that renew it while they are connected.
const renewing = {
  "renewing graphql-ws": client => direct(renewed(client)),
  "renewing graphql-sse single": client => direct(renewedStream(client)),
  "renewing Apollo GraphQLWsLink": client => apollo(new GraphQLWsLink(renewed(client))),
  "renewing urql graphql-ws": client => urql(renewed(client)),
};
for (const [client, make] of Object.entries(renewing)) start(client, make);

// Those that have one token only.
for (const [name, make] of Object.entries({
  "graphql-ws": client => direct(ws(client, kept(client), retry(3))),
  "graphql-sse": client => direct(sse(client, kept(client), false, retry(3))),
  "graphql-sse single": client => direct(sse(client, kept(client), true, retry(3))),
  "subscriptions-transport-ws": client => observed(old(client, kept(client)).request({ query })),
  "Apollo GraphQLWsLink": client => apollo(new GraphQLWsLink(ws(client, kept(client), retry(3)))),
  "urql graphql-ws": client => urql(ws(client, kept(client), retry(3))),
})) start("revoked " + name, make);

function start(client, make) {
  let gone = false;
  make(client)({
    next: result => result.errors ? say(client, { error: JSON.stringify(result.errors) }) : say(client, { title: result.data.postChanged.post.title }),
    error: error => { gone = true; say(client, { gone: error?.message ?? String(error?.code ?? JSON.stringify(error)) }); },
    complete: () => gone || say(client, { error: "completed" }), // Apollo does both
  });
}

// renewed sends a new token by a ping every second.
function renewed(client) {
  let open;
  (async () => {
    for (;; await seconds(1)) {
      if (open?.readyState === WebSocket.OPEN) open.send(JSON.stringify({ type: "ping", payload: { authToken: await fetched(client) } }));
    }
  })();
  return ws(client, fetched, retry(Infinity), socket => { open = socket; });
}

// renewedStream sends it by a PUT.
function renewedStream(client) {
  const headers = {}; // where the client keeps the stream's token
  (async () => {
    for (;; await seconds(1)) {
      if (!headers[streamToken]) continue;
      headers.authorization = "Bearer " + await fetched(client);
      const response = await fetch(url + "?token=" + headers[streamToken], { method: "PUT", headers: { authorization: headers.authorization } });
      if (response.status !== 204) say(client, { error: "the PUT was answered with " + response.status });
    }
  })();
  return createSSE(resume({
    url, singleConnection: true, ...retry(Infinity), on: { connected: () => say(client, { opened: true }) },
    headers: async () => Object.assign(headers, { authorization: "Bearer " + await fetched(client) }),
  }));
}

// Each subscribes and hands what comes to a sink.
function direct(transport) { return sink => transport.subscribe({ query }, sink); }

function observed(results) { return sink => results.subscribe(sink); }

function apollo(link) {
  const client = new ApolloClient({ cache: new InMemoryCache(), link });
  return sink => client.subscribe({ query: gql(query), fetchPolicy: "no-cache" }).subscribe({
    ...sink, next: r => r.error ? sink.error(r.error) : sink.next(r),
  });
}

function urql(transport) {
  const forwardSubscription = request => ({ subscribe: sink => ({ unsubscribe: transport.subscribe({ query: request.query, variables: request.variables }, sink) }) });
  const client = new Client({ url, exchanges: [fetchExchange, subscriptionExchange({ forwardSubscription })], preferGetMethod: false });
  return sink => client.subscription(query, {}).subscribe(r => r.error ? sink.error(r.error) : sink.next(r));
}

// Subscribes to the changes of posts with each client, and prints a line of JSON
// for each event. The clients come back by themselves; that they miss nothing
// is web/resume.js, and for the old client resume_old.mjs.
import { ApolloClient, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { WebSocketLink } from "@apollo/client/link/ws";
import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { createClient as createSSE } from "graphql-sse";
import { createClient as createWS } from "graphql-ws";
import { SubscriptionClient } from "subscriptions-transport-ws";
import WebSocket from "ws";
import { resume } from "../../web/resume.js";
import { resumeOld } from "./resume_old.mjs";

const [url, token] = process.argv.slice(2);
const socket = url.replace("http", "ws");
const query = `subscription { postChanged { kind post { title } } }`;

const retry = { retryAttempts: Infinity, retry: wait, retryWait: wait };
const ws = () => createWS(resume({ url: socket, webSocketImpl: WebSocket, connectionParams: () => ({ authToken: token }), ...retry }));
const sse = more => createSSE(resume({ url, headers: { authorization: "Bearer " + token }, ...retry, ...more }));
const old = () => resumeOld(new SubscriptionClient(socket, { reconnect: true, connectionParams: { authToken: token } }, WebSocket));

subscribe("graphql-ws", ws());
subscribe("graphql-sse", sse());
subscribe("graphql-sse single", sse({ singleConnection: true }));
old().request({ query }).subscribe(sink("subscriptions-transport-ws"));
apollo("Apollo GraphQLWsLink", new GraphQLWsLink(ws()));
apollo("Apollo WebSocketLink", new WebSocketLink(old()));
urql("urql graphql-ws", ws());
urql("urql graphql-sse", sse());

function wait() { return new Promise(resolve => setTimeout(resolve, 100 + Math.random() * 200)); }

function say(client, data) { console.log(JSON.stringify({ client, ...data })); }

function sink(client) {
  return {
    next: result => result.errors ? say(client, { error: JSON.stringify(result.errors) }) : say(client, { title: result.data.postChanged.post.title }),
    error: error => say(client, { error: error?.message ?? JSON.stringify(error) ?? "an error" }),
    complete: () => say(client, { error: "completed" }),
  };
}

function subscribe(name, client) { client.subscribe({ query }, sink(name)); }

function apollo(name, link) {
  const client = new ApolloClient({ cache: new InMemoryCache(), link });
  client.subscribe({ query: gql(query), fetchPolicy: "no-cache" }).subscribe(sink(name));
}

function urql(name, transport) {
  const forwardSubscription = request => ({ subscribe: sink => ({ unsubscribe: transport.subscribe({ query: request.query, variables: request.variables }, sink) }) });
  const client = new Client({ url, exchanges: [fetchExchange, subscriptionExchange({ forwardSubscription })], preferGetMethod: false });
  client.subscription(query, {}).subscribe(result => sink(name).next({ data: result.data, errors: result.error?.message }));
}

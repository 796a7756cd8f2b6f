import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { print, type ExecutionResult } from "graphql";
import { createClient, type Client } from "graphql-ws";
import { resume } from "tidings-resume";

/** Sends a query or a mutation, and returns what came: data, and the errors of single fields. */
export async function ask<Data, Variables>(url: string, token: string, document: TypedDocumentNode<Data, Variables>, variables: Variables): Promise<ExecutionResult<Data>> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer " + token },
    body: JSON.stringify({ query: print(document), variables }),
  });
  return response.json();
}

/** A client for subscriptions that misses nothing when its connection ends. */
export function live(url: string, token: string): Client {
  return createClient(resume({
    url: url.replace("http", "ws"),
    connectionParams: { authToken: token },
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait: () => new Promise<void>(again => setTimeout(again, 500 + Math.random() * 1000)),
  }));
}

/** The results of a subscription, each of its type. To leave the loop ends it. */
export function watch<Data extends Record<string, unknown>, Variables extends Record<string, unknown>>(client: Client, document: TypedDocumentNode<Data, Variables>, variables: Variables) {
  return client.iterate<Data>({ query: print(document), variables });
}

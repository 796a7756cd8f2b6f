// Queries, mutates and fails through clients that others wrote. Each check is
// printed as a line of JSON.
import assert from "node:assert/strict";
import { ApolloClient, CombinedGraphQLErrors, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { codegen } from "@graphql-codegen/core";
import * as typescript from "@graphql-codegen/typescript";
import * as operations from "@graphql-codegen/typescript-operations";
import { Client, fetchExchange } from "@urql/core";
import { buildClientSchema, getIntrospectionQuery, lexicographicSortSchema, parse, printSchema, validateSchema } from "graphql";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const [url, token, admin, contract] = process.argv.slice(2);
const authorization = "Bearer " + token;
const CREATE = `mutation Create($input: CreateUserInput!) { createUser(input: $input) { id name } }`;
const READ = `query Read($id: ID!) { user(id: $id) { id name posts(limit: 2) { title } } }`;
const REFUSED = `query Refused($id: ID!) { user(id: $id) { id adminNotes } }`;
const WRONG = `query Wrong { user(id: "x") { nothing } }`;

const checks = {
  async "Apollo Client"() {
    const client = new ApolloClient({ cache: new InMemoryCache(), link: new HttpLink({ uri: url, headers: { authorization } }) });
    await run({
      query: async (query, variables) => (await client.query({ query: gql(query), variables, errorPolicy: "all" })),
      mutate: (mutation, variables) => client.mutate({ mutation: gql(mutation), variables }),
      errors: result => result.error?.errors,
      name: "Apollo",
    });
    await assert.rejects(client.query({ query: gql(WRONG) }), e => CombinedGraphQLErrors.is(e) && e.errors[0].extensions.code === "GRAPHQL_VALIDATION_FAILED");
  },

  async "Apollo Client by GET"() {
    const link = new HttpLink({ uri: url, headers: { authorization }, useGETForQueries: true });
    const client = new ApolloClient({ cache: new InMemoryCache(), link });
    const { data } = await client.query({ query: gql(READ), variables: { id: "alice" } });
    assert.equal(data.user.id, "alice");
  },

  async "Apollo Client with persisted queries"() {
    const sent = []; // whether each request held the document, and what it got
    const observed = async (uri, options) => {
      const response = await fetch(uri, options);
      const text = (options.body ?? "") + uri;
      sent.push([options.method, text.includes("query+Persisted") || text.includes('"query"'), response.headers.get("cache-control")]);
      return response;
    };
    const sha256 = text => createHash("sha256").update(text).digest("hex");
    for (let i = 0; i < 2; i++) { // the second is another client
      const link = new PersistedQueryLink({ sha256, useGETForHashedQueries: true })
        .concat(new HttpLink({ uri: url, fetch: observed }));
      const client = new ApolloClient({ cache: new InMemoryCache(), link });
      const { data } = await client.query({ query: gql(`query Persisted($id: ID!) { user(id: $id) { id } }`), variables: { id: "alice" } });
      assert.equal(data.user.id, "alice");
    }
    const methods = sent.map(([method, held]) => method + (held ? " document" : " hash"));
    assert.deepEqual([methods[0], methods.at(-1), methods.length], ["GET hash", "GET hash", 3]);
    assert.ok(methods[1].endsWith("document"), methods[1]);
    assert.equal(sent[0][2], "no-store");
    assert.match(sent[2][2], /^public/);
  },

  async "urql"() { await urql(false); },
  async "urql by GET"() { await urql("force"); },

  async "urql subscribes"() {
    const client = new Client({ url, exchanges: [fetchExchange], fetchSubscriptions: true, preferGetMethod: false });
    const seen = await new Promise((resolve, reject) => {
      const list = [];
      setTimeout(reject, 20_000, new Error("the subscription gave " + JSON.stringify(list))).unref();
      client.subscription(`subscription { count(target: 3) }`, {}).subscribe(result => {
        if (result.error) reject(result.error);
        if (result.data) list.push(result.data.count);
        if (list.length === 3) resolve(list);
      });
    });
    assert.deepEqual(seen, [1, 2, 3]);
  },

  async "graphql-js reads the schema"() {
    const schema = await introspect();
    assert.deepEqual(validateSchema(schema), []);
    assert.ok(schema.getMutationType().getFields().createUser);
    const printed = printSchema(lexicographicSortSchema(schema));
    for (const type of Object.keys(schema.getTypeMap())) {
      if (!type.startsWith("__") && !["String", "Int", "Float", "Boolean", "ID"].includes(type)) assert.match(readFileSync(contract, "utf8"), new RegExp(`\\b${type}\\b`));
    }
    assert.match(printed, /type User/);
  },

  async "GraphQL Code Generator"() {
    const schema = await introspect();
    const output = await codegen({
      schema: parse(printSchema(schema)), schemaAst: schema, filename: "types.ts", config: {},
      documents: [{ location: "documents.graphql", document: parse([CREATE, READ].join("\n")) }],
      plugins: [{ typescript: {} }, { operations: {} }], pluginMap: { typescript, operations },
    });
    assert.match(output, /export type ReadQuery = /);
    assert.match(output, /export type CreateMutationVariables = /);
  },
};

async function urql(preferGetMethod) {
  const client = new Client({ url, exchanges: [fetchExchange], preferGetMethod, fetchOptions: { headers: { authorization } } });
  await run({
    query: (query, variables) => client.query(query, variables).toPromise(),
    mutate: (mutation, variables) => client.mutation(mutation, variables).toPromise(),
    errors: result => result.error?.graphQLErrors,
    name: "urql",
  });
  const wrong = await client.query(WRONG, {}).toPromise();
  assert.equal(wrong.error.graphQLErrors[0].extensions.code, "GRAPHQL_VALIDATION_FAILED");
}

// run makes the same calls through any client.
async function run({ query, mutate, errors, name }) {
  const made = await mutate(CREATE, { input: { name, email: `${name}@example.org`.toLowerCase() } }).catch(e => ({ error: e }));
  if (made.data?.createUser) {
    assert.deepEqual([made.data.createUser.id, made.data.createUser.name], ["alice", name]);
  } else { // a client before this one made her
    assert.equal((made.error.graphQLErrors ?? made.error.errors)[0].extensions.code, "CONFLICT");
  }
  const read = await query(READ, { id: "alice" });
  assert.equal(errors(read), undefined);
  assert.deepEqual([read.data.user.id, read.data.user.posts], ["alice", []]);
  const refused = await query(REFUSED, { id: "alice" });
  assert.equal(refused.data.user.adminNotes, null);
  assert.deepEqual(errors(refused).map(e => [e.extensions.code, e.path]), [["FORBIDDEN", ["user", "adminNotes"]]]);
}

async function introspect() {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer " + admin },
    body: JSON.stringify({ query: getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, oneOf: true, schemaDescription: true, directiveIsRepeatable: true }) }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  return buildClientSchema(data);
}

for (const [name, check] of Object.entries(checks)) {
  let reason;
  await check().catch(e => { reason = String(e.stack ?? e); });
  console.log(JSON.stringify({ name, status: reason ? "error" : "ok", reason }));
}
process.exit(); // a subscription may still be open

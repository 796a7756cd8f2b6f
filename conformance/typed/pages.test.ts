import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { parse, separateOperations, type DocumentNode } from "graphql";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { ask } from "./client.js";
import type { CreatePageInput, MakeMutation, MakeMutationVariables, PageQuery, PageQueryVariables, WholeFragment } from "./generated/pages.js";

const url = process.env.PAGES_URL!, ada = process.env.ADA!;
const documents: Record<string, DocumentNode> = separateOperations(parse(readFileSync("operations/pages.graphql", "utf8")));
const MAKE = documents.Make as TypedDocumentNode<MakeMutation, MakeMutationVariables>;
const PAGE = documents.Page as TypedDocumentNode<PageQuery, PageQueryVariables>;

/** Every type of a union has its case, or this does not compile. */
function tell(block: WholeFragment["blocks"][number]): string {
  switch (block.__typename) {
    case "Text": return block.body;
    case "Image": return block.caption ?? block.url;
  }
}

test("unions, interfaces and scalars have types of their own", async () => {
  const input: CreatePageInput = {
    title: "One",
    hero: { video: { url: "https://example.org/v.mp4" } },
    blocks: [{ text: { body: "Hello" } }, { image: { url: "https://example.org/i.png" } }],
    published: "2026-11-20",
    price: { amount: "9.50", currency: "EUR" },
    meta: { of: ["anything", 1] },
  };
  const made = (await ask(url, ada, MAKE, { input })).data?.createPage;
  assert.ok(made);
  const page = (await ask(url, ada, PAGE, { id: made.id })).data?.page;
  assert.deepEqual(page, made);
  assert.deepEqual(page?.blocks.map(tell), ["Hello", "https://example.org/i.png"]);
  assert.equal(page?.hero?.__typename === "Video" && page.hero.seconds, 30);
  assert.equal(page?.price?.amount, "9.50");
  assert.deepEqual([page?.published, page?.token, page?.meta], ["2026-11-20", null, { of: ["anything", 1] }]);
  // @ts-expect-error: an input of several types takes one of them
  const both: CreatePageInput = { title: "Two", hero: { image: { url: "https://example.org" }, video: { url: "https://example.org" } } };
  const refused = await ask(url, ada, MAKE, { input: both });
  assert.equal(refused.errors?.[0]?.extensions?.code, "BAD_USER_INPUT");
});

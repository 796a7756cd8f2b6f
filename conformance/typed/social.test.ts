import assert from "node:assert/strict";
import test from "node:test";
import WebSocket from "ws";
import { ask, live, watch } from "./client.js";
import { AuthorDocument, PostChangedDocument, PrivateDocument, RemoveDocument, RewriteDocument, SignDocument, WriteDocument, type PostKind } from "./generated/social/graphql.js";

const url = process.env.SOCIAL_URL!, ada = process.env.ADA!, ben = process.env.BEN!;
globalThis.WebSocket ??= WebSocket as unknown as typeof globalThis.WebSocket; // Node has one from 22 on

/** Every value of an enum has its case, or this does not compile. */
function name(kind: PostKind): string {
  switch (kind) {
    case "ARTICLE": return "an article";
    case "NOTE": return "a note";
    case "LINK": return "a link";
  }
}

test("what is asked for has the type that it says", async () => {
  const signed = await ask(url, ada, SignDocument, { input: { name: "Ada", email: "ada@example.org" } });
  assert.equal(signed.data?.createUser?.email, "ada@example.org");
  const { data } = await ask(url, ada, WriteDocument, { input: { title: "Engines", kind: "NOTE", tags: ["steam"] } });
  const post = data?.createPost;
  assert.ok(post);
  assert.equal(name(post.kind), "a note");
  const minutes: number | null = post.minutes, when: Date = new Date(post.createdAt);
  assert.equal(minutes, null);
  assert.ok(Math.abs(Date.now() - when.getTime()) < 600_000);
  const { data: read } = await ask(url, ada, AuthorDocument, { id: "ada" });
  assert.deepEqual(read?.posts?.nodes, [post]);
  assert.equal(read?.posts?.totalCount, 1);
  const { data: rewritten } = await ask(url, ada, RewriteDocument, { input: { id: post.id, minutes: 7 } });
  assert.deepEqual(rewritten?.updatePost, { ...post, minutes: 7 }); // what was not given stayed
  // @ts-expect-error: there is no such value
  await ask(url, ada, WriteDocument, { input: { title: "No", kind: "POEM" } });
  // @ts-expect-error: the title cannot be left out
  await ask(url, ada, WriteDocument, { input: {} });
  // @ts-expect-error: what was not selected is not there
  read?.user?.posts;
});

test("a field that is refused is null, and says why", async () => {
  const { data, errors } = await ask(url, ben, PrivateDocument, { id: "ada" });
  const email: string | null | undefined = data?.user?.email;
  assert.deepEqual([data?.user?.name, email], ["Ada", null]);
  assert.deepEqual(errors?.map(e => [e.path, e.extensions?.code]).sort(), [[["user", "adminNotes"], "FORBIDDEN"], [["user", "email"], "FORBIDDEN"]]);
  const refused = await ask(url, ben, WriteDocument, { input: { title: "" } });
  assert.equal(refused.data?.createPost, null);
  assert.deepEqual(refused.errors?.map(e => [e.extensions?.code, e.extensions?.field]), [["BAD_USER_INPUT", "input.title"]]);
});

test("a subscription misses nothing when its connection ends", async () => {
  await ask(url, ben, SignDocument, { input: { name: "Ben", email: "ben@example.org" } });
  const client = live(url, ben), titles: string[] = [];
  const write = async (n: number) => (await ask(url, ben, WriteDocument, { input: { title: `post ${n}` } })).data?.createPost?.id;
  let connections = 0;
  client.on("connected", async () => {
    if (++connections === 1) setTimeout(() => write(1), 200);
  });
  for await (const { data, errors } of watch(client, PostChangedDocument, { filter: { authorId: { eq: "ben" } } })) {
    const change = data?.postChanged;
    assert.ok(change, JSON.stringify(errors));
    titles.push(`${change.kind} ${change.post?.title ?? "nothing"}`);
    if (titles.length === 1) {
      client.terminate();
      const id = await write(2);
      await write(3);
      await ask(url, ben, RemoveDocument, { input: { id: id! } });
    }
    if (titles.length === 4) break;
  }
  await client.dispose();
  assert.deepEqual(titles, ["CREATED post 1", "CREATED post 2", "CREATED post 3", "DELETED nothing"]);
  assert.equal(connections, 2);
});

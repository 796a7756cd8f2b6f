// The examples of the page, without the page: node --test examples.test.mjs, with CONTRACTS naming a directory of
// contracts as the service prints them.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { buildSchema, getVariableValues, parse, validate } from "../../web/graphiql/node_modules/graphql/index.js";
import { examples } from "../../web/graphiql/src/examples.js";
import { matching } from "../../web/graphiql/src/pattern.js";

for (const name of readdirSync(process.env.CONTRACTS)) {
  test(`the examples of ${name} are operations of it`, () => {
    const schema = buildSchema(readFileSync(join(process.env.CONTRACTS, name), "utf8"), { assumeValidSDL: true });
    const list = examples(schema);
    assert.ok(list.length > 0);
    assert.equal(new Set(list.map(({ title }) => title)).size, list.length, "two have one title");
    for (const { title, query, variables } of list) {
      const document = parse(query);
      assert.deepEqual(validate(schema, document).map(String), [], title);
      const values = getVariableValues(schema, document.definitions[0].variableDefinitions ?? [], JSON.parse(variables || "{}"));
      assert.deepEqual((values.errors ?? []).map(String), [], title);
    }
  });
}

for (const pattern of [
  "^[A-Z]{2}-[0-9]+$", "^(red|green)\\s\\d{3}[^a-z]?$", "^\\+?[1-9]\\d{7,14}$", "abc", "^a.c$", "^[\\w.-]+@[\\w-]+\\.[a-z]{2,}$", "^(?:ab|cd){2}$", "^[^/]+$", "^x*y?z$", "^#[0-9a-fA-F]{6}$",
]) test(`${pattern} is matched`, () => assert.match(matching(pattern) ?? "", new RegExp(pattern, "u")));

for (const pattern of ["(?i)abc", "^\\p{Lu}$", "("]) test(`${pattern} is left alone`, () => assert.equal(matching(pattern), null));

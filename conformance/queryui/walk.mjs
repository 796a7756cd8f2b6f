// The walks of a person over the page, one after the other: node walk.mjs <what> <settings as JSON>. A walk that fails
// throws; each prints what it has seen.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const [what, json] = process.argv.slice(2);
const { url, token, control, pictures } = JSON.parse(json);
const patience = 60_000;

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
// visit opens the page and notes what it should not do.
async function visit(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage(), wrong = [], asked = [];
  page.setDefaultTimeout(patience);
  page.on("console", message => /error|warning/.test(message.type()) && wrong.push(message.text() + " " + message.location().url));
  page.on("pageerror", error => wrong.push(String(error)));
  page.on("request", request => asked.push(request.url()));
  page.on("websocket", socket => asked.push(socket.url().replace(/^ws/, "http")));
  await page.goto(url);
  await page.locator(".graphiql-query-editor .view-line").first().waitFor();
  return { page, wrong, asked, context };
}

const tab = (page, name) => page.getByRole("tab", { name, exact: true });
const run = page => page.locator(".graphiql-execute-button").click();
const connection = page => page.locator("#connection");
const phase = (page, value) => page.locator(`#connection[data-phase="${value}"]`).waitFor();
const editor = (page, of) => page.evaluate(of => globalThis.__MONACO.editor.getEditors().find(editor => editor.getContainerDomNode().closest(of)).getValue(), of);
const answer = page => editor(page, ".result-window");
const sign = async page => page.locator("#token").fill(token);
const panel = (page, name) => page.locator(".graphiql-sidebar").getByRole("button", { name: new RegExp(name) }).click();

async function until(condition, message) {
  for (const end = Date.now() + patience; ; await new Promise(resolve => setTimeout(resolve, 50))) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) assert.fail(typeof message === "function" ? await message() : message);
  }
}

// outside asks the service without the page.
async function outside(query, variables) {
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json", authorization: "Bearer " + token }, body: JSON.stringify({ query, variables }) });
  const result = await response.json();
  assert.equal(result.errors, undefined, JSON.stringify(result));
  return result.data;
}

async function picture(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: `${pictures}/${name}.png` });
}

// loads: no errors, nothing from elsewhere, the examples in tabs, in light and dark and on a phone.
async function loads() {
  for (const [name, options] of Object.entries({
    light: { colorScheme: "light" }, dark: { colorScheme: "dark" }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true },
  })) {
    const { page, wrong, asked, context } = await visit(options);
    assert.deepEqual(await page.getByRole("tab").allInnerTexts(), ["ListUsers", "CreateUser", "WatchUsers", "ListPosts", "CreatePost", "WatchPosts"]);
    await run(page);
    await until(async () => /"totalCount"/.test(await answer(page)), () => answer(page));
    await picture(page, "query-" + name);
    await panel(page, "Documentation");
    await page.getByText("Root Types").waitFor();
    await picture(page, "docs-" + name);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    assert.equal(wide, false, `${name}: the page is wider than the window`);
    if (name === "light") await repainted(page);
    assert.deepEqual(wrong, [], name);
    assert.deepEqual(asked.filter(one => new URL(one).origin !== new URL(url).origin && !one.startsWith("data:")), [], name);
    await context.close();
  }
}

// tokens: the field is who calls, is kept for the tab, and nowhere else.
async function tokens() {
  const { page, wrong, asked, context } = await visit();
  await tab(page, "CreatePost").click();
  await run(page);
  await until(async () => /UNAUTHENTICATED|FORBIDDEN/.test(await answer(page)), () => answer(page));
  await page.locator("#hint").waitFor();
  await picture(page, "hint");
  await sign(page);
  await page.locator("#hint").waitFor({ state: "detached" });
  await until(async () => /root · .*ADMIN/.test(await page.locator("#who").innerText()), () => page.locator("#who").innerText());
  await run(page);
  await until(async () => /"authorId": "root"/.test(await answer(page)), () => answer(page));

  // In the headers of a tab it is good for that tab, and is not kept either.
  await page.locator("#token").fill("");
  await tab(page, "ListUsers").click();
  await page.getByRole("button", { name: "Headers" }).click();
  await page.evaluate(token => {
    const headers = globalThis.__MONACO.editor.getModels().find(model => /header/.test(model.uri.path));
    headers.setValue(JSON.stringify({ Authorization: "Bearer " + token }));
  }, token);
  const sent = page.waitForRequest(request => request.method() === "POST" && /ListUsers/.test(request.postData()));
  await run(page);
  assert.equal((await sent).headers().authorization, "Bearer " + token);
  await until(async () => /"totalCount"/.test(await answer(page)), () => answer(page));
  await until(() => page.evaluate(() => /ListUsers/.test(localStorage.getItem("graphiql:queries"))), "the history is not kept");
  await sign(page);

  const places = await page.evaluate(() => [JSON.stringify(localStorage), document.cookie, location.href]);
  for (const place of places) assert.equal(place.includes(token.slice(-20)), false, "the token is in " + place.slice(0, 200));
  assert.equal(asked.some(one => one.includes(token.slice(-20))), false, "the token is in an address");
  await page.reload();
  assert.equal(await page.locator("#token").inputValue(), token);
  const other = await context.newPage();
  await other.goto(url);
  assert.equal(await other.locator("#token").inputValue(), "", "another tab has the token");

  // A token that is no good is refused, over each transport in a sentence.
  await page.locator("#token").fill("no.such.token");
  await tab(page, "WatchUsers").click();
  for (const transport of ["WebSocket", "SSE"]) {
    await page.getByText(transport, { exact: true }).click();
    await run(page);
    await phase(page, "failed");
    await until(async () => /token|4403/.test(await answer(page)), () => answer(page));
  }
  assert.deepEqual(wrong.filter(text => !/401/.test(text)), []); // which the browser notes when an answer has that status
}

// repainted: the editors follow when the system changes its colours.
async function repainted(page) {
  const ink = () => page.evaluate(() => getComputedStyle(document.querySelector(".graphiql-query-editor .view-line span span")).color);
  const light = await ink();
  await page.emulateMedia({ colorScheme: "dark" });
  await until(async () => await ink() !== light, "the editor keeps the colours of light");
  await page.emulateMedia({ colorScheme: "light" });
  await until(async () => await ink() === light, "the editor keeps the colours of dark");
}

// examples: each runs as it is, and gets what it asks for.
async function examples() {
  const { page, wrong } = await visit();
  await sign(page);
  await panel(page, "Examples");
  const titles = (await page.locator(".tidings-panel li button").allInnerTexts()).map(text => text.split(/\s+/)[0]);
  assert.ok(titles.length >= 6, titles.join());
  for (const title of titles) {
    await page.locator(".tidings-panel li button").filter({ hasText: new RegExp("^" + title + " ") }).click();
    await until(async () => (await editor(page, ".graphiql-query-editor")).includes(" " + title), title + " does not open");
    const live = (await editor(page, ".graphiql-query-editor")).startsWith("subscription");
    if (!live) {
      await run(page);
      const text = await until(async () => /"(data|errors)"/.test(await answer(page)) && answer(page), title + " is not answered");
      assert.equal("errors" in JSON.parse(text), false, title + ": " + text);
      assert.ok(Object.values(JSON.parse(text).data).every(value => value !== null), title + ": " + text);
    } else {
      for (const transport of ["WebSocket", "SSE"]) {
        await page.getByText(transport, { exact: true }).click();
        await run(page);
        await phase(page, "connected");
        const refused = async () => (await connection(page).getAttribute("data-phase")) === "failed";
        await until(async () => await refused() || /"data"/.test(await answer(page)), () => title + ": nothing came");
        assert.equal(/"errors"/.test(await answer(page)), false, title + ": " + await answer(page));
        await run(page);
        await phase(page, "stopped");
      }
    }
    console.log(title);
  }
  assert.deepEqual(wrong, []);
}

// live: over each transport a change from outside is shown, and after a restart of the service what happened meanwhile.
async function live() {
  const { page, wrong } = await visit();
  await sign(page);
  await tab(page, "WatchPosts").click();
  await panel(page, "Live events");
  await page.waitForLoadState("networkidle"); // the editor loads its languages when they are needed
  const create = title => outside("mutation ($title: String!) { createPost(input: {title: $title}) { id } }", { title });
  const shown = title => page.locator(".tidings-panel pre").filter({ hasText: title });
  for (const transport of ["WebSocket", "SSE"]) {
    await page.getByText(transport, { exact: true }).click();
    await create(`before ${transport}`);
    await run(page);
    await shown(`before ${transport}`).waitFor();
    await create(`seen ${transport}`);
    await shown(`seen ${transport}`).waitFor();
    await phase(page, "connected");
    await fetch(control + "/stop", { method: "POST" });
    await phase(page, "waiting");
    await picture(page, "away-" + transport);
    await fetch(control + "/start", { method: "POST" });
    await create(`meanwhile ${transport}`);
    await phase(page, "connected");
    await create(`after ${transport}`);
    await shown(`after ${transport}`).waitFor();
    for (const word of ["seen", "meanwhile", "after"]) assert.equal(await shown(`${word} ${transport}`).count(), 1, word);
    assert.match(await connection(page).innerText(), /live · \d+ events · resumed 1×/);
    await picture(page, "live-" + transport);
    await run(page);
    await phase(page, "stopped");
  }
  assert.deepEqual(wrong.filter(text => !/ERR_|WebSocket connection to|status of 503/.test(text)), []); // the browser's own notes that nobody answered, or not yet
}

// many: a snapshot of more records than are listed, over each transport; all are counted.
async function many() {
  const { page, wrong } = await visit();
  await sign(page);
  const some = Array.from({ length: 20 }, (_, i) => `p${i}: createPost(input: {title: "one of many"}) { id }`).join(" ");
  for (let i = 0; i < 15; i++) await outside(`mutation { ${some} }`);
  await tab(page, "WatchPosts").click();
  await panel(page, "Live events");
  for (const transport of ["WebSocket", "SSE"]) {
    await page.getByText(transport, { exact: true }).click();
    await run(page);
    await until(async () => /live · 30[01] events/.test(await connection(page).innerText()), () => connection(page).innerText()); // and the end of the snapshot
    assert.equal(await page.locator(".tidings-panel article").count(), 100);
    await run(page);
    await phase(page, "stopped");
  }
  assert.deepEqual(wrong, []);
}

// documentation: it can be walked, and follows the schema; what was run is in the history.
async function documentation() {
  const { page, wrong } = await visit();
  await run(page);
  await until(async () => /"totalCount"/.test(await answer(page)), () => answer(page));
  await panel(page, "History");
  await page.locator(".graphiql-history").getByText("ListUsers").waitFor();
  await panel(page, "Documentation");
  await page.getByRole("link", { name: "Mutation", exact: true }).click();
  await page.getByText("Creates a Post and returns it.").waitFor();
  await fetch(control + "/change", { method: "POST" }); // adds a type Comment
  await page.getByText("Creates a Comment and returns it.").waitFor();
  await panel(page, "Examples");
  await page.getByRole("button", { name: /^CreateComment/ }).waitFor();
  await picture(page, "examples");
  assert.deepEqual(wrong, []);
}

try {
  await { loads, token: tokens, examples, live, many, documentation }[what]();
} finally {
  await browser.close();
}
console.log("ok");

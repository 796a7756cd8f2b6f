// A browser that tests tell what to do: each line of standard input is a command in JSON, and is answered by a line.
// node visitor.mjs [chromium | firefox | webkit [SHA-256 OF A PUBLIC KEY THAT IS TRUSTED, BASE64]]
// What the engines differ in is in files of their names: they open pages, and a page evaluates, presses and is shot.
import { createInterface } from "node:readline";

const [engine = "chromium", trusted] = process.argv.slice(2);
const { start } = await import(`./${engine}.mjs`);
const pages = new Map(), said = []; // what was thrown, and what a policy forbade; what fails in the network is said by the page
const browser = await start({ trusted });
const patience = 60_000;

const commands = {
  /** Opens a page; sockets to addresses that match silent are opened for it, and never answered. */
  async open({ page: name, ...window }) {
    pages.set(name, await browser.open({ ...window, hear: text => said.push(`${name}: ${text}`) }));
  },
  fill: async ({ page, at, text }) => {
    await spot(pages.get(page), at);
    await pages.get(page).evaluate(`(e => { e.focus(); e.select(); document.execCommand(${text ? '"insertText"' : '"delete"'}, false, ${JSON.stringify(text)}); })(document.querySelector(${JSON.stringify(at)}))`);
  },
  click: async ({ page, at, text }) => {
    const { x, y } = await spot(pages.get(page), at, text);
    await pages.get(page).press(x, y);
  },
  evaluate: ({ page, text }) => pages.get(page).evaluate(text),
  shot: async ({ page, file, scheme }) => { await pages.get(page).shot(file, scheme); },
  errors: async () => {
    for (const page of pages.values()) await page.listen?.();
    return said;
  },
};

// spot is where the first element is that is seen, has the text and lies in nobody's shadow.
async function spot(page, at, text = "") {
  const look = `(() => {
    const e = [...document.querySelectorAll(${JSON.stringify(at)})].find(e => e.checkVisibility() && e.textContent.includes(${JSON.stringify(text)}));
    if (!e) return "is not there";
    if (e.disabled) return "is disabled";
    e.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const { left, top, width, height } = e.getBoundingClientRect(), x = left + width / 2, y = top + height / 2;
    const there = document.elementFromPoint(x, y);
    return e.contains(there) ? { x, y } : "is covered by " + there?.outerHTML.slice(0, 200);
  })()`;
  for (const end = Date.now() + patience; ; await new Promise(resolve => setTimeout(resolve, 50))) {
    const found = await page.evaluate(look);
    if (typeof found !== "string") return found;
    if (Date.now() > end) throw Error(`${at} ${text} ${found}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...rest } = JSON.parse(line);
  try {
    console.log(JSON.stringify({ value: await commands[command](rest) }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
await browser.close();

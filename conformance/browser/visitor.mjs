// A browser that tests tell what to do: each line of standard input is a command in JSON, and is answered by a line.
// node visitor.mjs [SHA-256 OF A PUBLIC KEY THAT IS TRUSTED, BASE64]
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [trusted] = process.argv.slice(2);
const args = ["--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
if (trusted) args.push("--ignore-certificate-errors-spki-list=" + trusted);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", chromiumSandbox: false, args, timeout: 120_000 });
const pages = new Map(), said = [];

const commands = {
  /** Opens a page; sockets to addresses that match silent are opened for it, and never answered. */
  async open({ page: name, url, width, height, scheme, silent }) {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    if (silent) await page.routeWebSocket(silent, () => {});
    page.on("pageerror", error => said.push(`${name}: ${error.message}`)); // what is thrown; what fails in the network is said by the page
    await page.goto(url);
    pages.set(name, page);
  },
  fill: ({ page, at, text }) => pages.get(page).fill(at, text),
  click: ({ page, at }) => pages.get(page).click(at),
  evaluate: ({ page, text }) => pages.get(page).evaluate(text),
  shot: async ({ page, file, scheme }) => {
    if (scheme) await pages.get(page).emulateMedia({ colorScheme: scheme });
    await pages.get(page).screenshot({ path: file, fullPage: true });
  },
  errors: () => said,
};

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...rest } = JSON.parse(line);
  try {
    console.log(JSON.stringify({ value: await commands[command](rest) }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
await browser.close();

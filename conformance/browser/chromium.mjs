// Chromium, driven by playwright-core.
import { chromium } from "playwright-core";
import { forbidden } from "./policy.mjs";

export async function start({ trusted }) {
  const args = ["--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  if (trusted) args.push("--ignore-certificate-errors-spki-list=" + trusted);
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", chromiumSandbox: false, args, timeout: 120_000 });
  return { open: window => open(browser, window), close: () => browser.close() };
}

async function open(browser, { url, width, height, scheme, silent, hear }) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  if (silent) await page.routeWebSocket(silent, () => {});
  page.on("pageerror", error => hear(error.message));
  page.on("console", message => forbidden(message.text()) && hear(message.text()));
  await page.goto(url);
  return {
    evaluate: text => page.evaluate(text),
    press: (x, y) => page.mouse.click(x, y),
    async shot(file, scheme) {
      if (scheme) await page.emulateMedia({ colorScheme: scheme });
      await page.screenshot({ path: file, fullPage: true });
    },
  };
}

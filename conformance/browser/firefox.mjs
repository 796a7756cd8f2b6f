// Firefox, driven by puppeteer-core over WebDriver BiDi. BiDi has no colours: there is a Firefox for each scheme.
import puppeteer from "puppeteer-core";
import { chosen, forbidden } from "./policy.mjs";

export async function start({ trusted }) {
  const of = {};
  const launch = scheme => (of[scheme] ??= puppeteer.launch({
    browser: "firefox", executablePath: "/usr/bin/firefox-esr", timeout: 120_000, protocolTimeout: 120_000, acceptInsecureCerts: Boolean(trusted),
    extraPrefsFirefox: { "layout.css.prefers-color-scheme.content-override": scheme === "dark" ? 0 : 1 },
  }));
  return {
    open: async window => open(await launch(window.scheme || "light"), window),
    close: async () => { for (const browser of Object.values(of)) await (await browser).close(); },
  };
}

async function open(browser, { url, width, height, scheme = "light", silent, hear }) {
  if (silent) throw Error("sockets are kept silent in Chromium alone");
  const page = await (await browser.createBrowserContext()).newPage();
  await page.setViewport({ width, height });
  page.on("pageerror", error => hear(error.message));
  page.on("console", message => forbidden(message.text()) && hear(message.text()));
  await page.goto(url, { timeout: 60_000 });
  return {
    evaluate: text => page.evaluate(text),
    press: (x, y) => page.mouse.click(x, y),
    shot: (file, wanted) => { chosen(scheme, wanted); return page.screenshot({ path: file, fullPage: true }); },
  };
}

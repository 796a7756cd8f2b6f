// WebKitGTK, the engine of Safari: MiniBrowser, driven by WebKitWebDriver (W3C WebDriver) on a display of Xvfb's.
// WebDriver has neither colours nor windows beside each other: each page has a browser of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { chosen } from "./policy.mjs";

const lib = "/usr/lib/x86_64-linux-gnu".replace("x86_64", { arm64: "aarch64" }[process.arch] ?? "x86_64");
const binary = () => `${lib}/${readdirSync(lib).filter(name => name.startsWith("webkit2gtk-4")).sort().at(-1)}/MiniBrowser`;

process.on("SIGTERM", () => process.exit(1));

export async function start() {
  const screen = spawn("Xvfb", ["-displayfd", "1", "-screen", "0", "1400x2600x24", "-nolisten", "tcp"], { stdio: ["ignore", "pipe", "ignore"] });
  process.on("exit", () => screen.kill());
  const [number] = await once(screen.stdout, "data");
  const display = ":" + String(number).trim(), pages = [];
  return {
    async open(window) {
      const page = await open(display, window);
      pages.push(page);
      return page;
    },
    async close() {
      for (const page of pages) await page.close();
      screen.kill();
    },
  };
}

async function open(display, { url, width, height, scheme = "light", silent, hear }) {
  if (silent) throw Error("sockets are kept silent in Chromium alone");
  const driver = await drive({ DISPLAY: display, GTK_THEME: scheme === "dark" ? "Adwaita:dark" : "Adwaita" });
  const ask = await driver.begin();
  await ask("POST", "/timeouts", { script: 120_000 });
  await ask("POST", "/window/rect", { x: 0, y: 0, width, height });
  await ask("POST", "/url", { url });
  const evaluate = async text => {
    const { value, error } = await ask("POST", "/execute/async", { args: [], script: `const done = arguments[0];
      (async () => (${text}))().then(value => done({ value }), error => done({ error: String(error) }));` });
    if (error) throw Error(error);
    return value;
  };
  await evaluate(`(() => {
    const heard = window.heardByTests = [];
    addEventListener("error", event => heard.push(event.message));
    addEventListener("unhandledrejection", event => heard.push(String(event.reason)));
    addEventListener("securitypolicyviolation", event => heard.push("Content-Security-Policy: " + event.violatedDirective + " " + event.blockedURI));
  })()`);
  return {
    evaluate,
    press: (x, y) => ask("POST", "/actions", { actions: [{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions: [
      { type: "pointerMove", duration: 0, origin: "viewport", x: Math.round(x), y: Math.round(y) }, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 },
    ] }] }),
    listen: async () => (await evaluate("heardByTests.splice(0)")).forEach(hear),
    async shot(file, wanted) {
      chosen(scheme, wanted);
      await evaluate(paint); // a picture is taken of the next frame, and there is none of a page that rests
      await writeFile(file, Buffer.from(await ask("GET", "/screenshot"), "base64"));
      await evaluate("clearInterval(paintedByTests)");
    },
    async close() {
      await ask("DELETE", "").catch(() => {}); // the browser may be gone
      driver.end();
    },
  };
}

// paint changes a point of the page until it is cleared.
const paint = `(() => {
  const point = document.body.appendChild(document.createElement("i"));
  point.style.cssText = "position: fixed; left: 0; top: 0; width: 1px; height: 1px";
  window.paintedByTests = setInterval(() => { point.style.background = Date.now() % 2 ? "#888" : "#889"; }, 20);
})()`;

// drive starts a driver. begin begins its session, and returns what asks it; end ends it.
async function drive(environment) {
  const port = await freePort();
  const child = spawn("WebKitWebDriver", ["--port=" + port], { stdio: "ignore", env: { ...process.env, ...environment, WEBKIT_DISABLE_DMABUF_RENDERER: "1", NO_AT_BRIDGE: "1" } });
  const end = () => child.kill();
  process.on("exit", end);
  const ask = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, body: body && JSON.stringify(body), headers: body && { "content-type": "application/json" } });
    const { value } = await response.json();
    if (value?.error) throw Error(`${value.error}: ${value.message}`);
    return value;
  };
  for (const late = Date.now() + 60_000; ; await new Promise(resolve => setTimeout(resolve, 50))) {
    if (await ask("GET", "/status").then(() => true, () => false)) break;
    if (Date.now() > late || child.exitCode !== null) throw Error("WebKitWebDriver does not answer");
  }
  const begin = async () => {
    const { sessionId } = await ask("POST", "/session", { capabilities: { alwaysMatch: { "webkitgtk:browserOptions": { binary: binary(), args: ["--automation"] } } } });
    return (method, path, body) => ask(method, `/session/${sessionId}${path}`, body);
  };
  return { begin, end };
}

const freePort = () => new Promise(resolve => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

// Builds what browsers load from src into the directory that is named, dist unless it is: files with a hash of their
// content in their names, packed with gzip, the page, and the licences of what is in it. The same sources and the same
// lock file give the same bytes: no times, no paths, and a packer that is itself locked.
import { build } from "esbuild";
import { gzipSync } from "fflate";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");

// GraphiQL's style holds that of its editor, with the letters of its icons. Its fonts are left out: the page takes those
// of the system.
const styles = {
  name: "styles",
  setup(build) {
    build.onLoad({ filter: /node_modules\/monaco-editor\/.*\.css$/ }, () => ({ contents: "", loader: "empty" }));
    build.onLoad({ filter: /node_modules\/graphiql\/dist\/style\.css$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replace(/@font-face\s*\{[^}]*font-family:\s*["']?(Roboto|Fira Code)\b[^}]*\}/g, ""), loader: "css",
    }));
  },
};

const common = {
  absWorkingDir: here, bundle: true, minify: true, write: false, metafile: true, outdir: "/", target: "es2022", charset: "utf8",
  legalComments: "none", // they are in LICENSES.md, which the build writes
  entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]", assetNames: "[name]-[hash]",
  define: { "process.env.NODE_ENV": '"production"' }, jsx: "automatic", plugins: [styles],
};

const workers = await build({
  ...common, format: "iife",
  entryPoints: {
    editor: "monaco-editor/esm/vs/editor/editor.worker.js",
    json: "monaco-editor/esm/vs/language/json/json.worker.js",
    graphql: "monaco-graphql/esm/graphql.worker.js",
  },
});
const named = name => workers.outputFiles.map(file => file.path.slice(1)).find(path => path.startsWith(name + "-"));
const page = await build({
  ...common, format: "esm", splitting: true, entryPoints: { main: "src/main.jsx" },
  define: { ...common.define, WORKERS: JSON.stringify({ editor: named("editor"), json: named("json"), graphql: named("graphql") }) },
});

const files = new Map([...workers.outputFiles, ...page.outputFiles].map(file => [file.path.slice(1), file.contents]));
const entry = ending => [...files.keys()].find(name => name.startsWith("main-") && name.endsWith(ending));
const html = (await readFile(join(here, "src/page.html"), "utf8")).replace("{{script}}", entry(".js")).replace("{{style}}", entry(".css"));

await rm(out, { recursive: true, force: true });
await mkdir(join(out, "assets"), { recursive: true });
for (const [name, contents] of files) await writeFile(join(out, "assets", name + ".gz"), gzipSync(contents, { level: 9, mtime: 0 }));
await writeFile(join(out, "page.html"), html);
await writeFile(join(out, "LICENSES.md"), await licences({ ...workers.metafile.inputs, ...page.metafile.inputs }));

// licences lists the packages of which something is bundled, and the texts, each once.
async function licences(inputs) {
  const packages = new Map(), texts = new Map();
  for (const path of new Set(Object.keys(inputs).flatMap(path => path.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []))) {
    const about = JSON.parse(await readFile(join(here, path, "package.json"), "utf8"));
    packages.set(`${about.name} ${about.version}`, { path, about });
  }
  const sorted = [...packages].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, { path, about }] of sorted) {
    const files = (await readdir(join(here, path))).filter(name => /^(licen[cs]e|notice|thirdpartynotices)/i.test(name)).sort();
    const said = files.length ? await Promise.all(files.map(file => readFile(join(here, path, file), "utf8"))) : [
      `No text comes with it. Its licence is ${about.license}${author(about)}.`];
    for (const text of said) {
      const plain = text.trim().split(/\r?\n/).map(line => ("    " + line).trimEnd()).join("\n");
      texts.set(plain, [...(texts.get(plain) ?? []), name]);
    }
  }
  const rows = sorted.map(([, { about }]) => `| ${about.name} | ${about.version} | ${about.license} |\n`).join("");
  const all = [...texts].map(([text, of]) => `\n### Of ${of.join(", ")}\n\n${text}\n`).join("");
  return `# Licences of what the query page bundles\n\nMade by \`make ui\`, from npm's packages of these names and versions.\n\n| package | version | licence |\n|---|---|---|\n${rows}\n## Texts\n${all}`;
}

function author({ author, repository }) {
  const who = typeof author === "object" ? author.name : author;
  return (who ? `, and its author ${who}` : "") + (repository ? `; its source: ${repository.url ?? repository}` : "");
}

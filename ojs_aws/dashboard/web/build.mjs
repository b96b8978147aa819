// Builds the page into a folder (../static, or the one that is named), the same bytes each time.
//
// Names carry a hash of the content, so that browsers may keep the files for ever. A compressed file is kept as it is
// when it still unpacks to the content: another version of zlib would compress to other bytes.

import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import subsetFont from "subset-font";
import { uplotParts } from "./uplot_parts.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const target = resolve(process.argv[2] ?? join(here, "..", "static"));
const assets = join(target, "assets");
const BUNDLED = [
  "@fontsource-variable/inter", "@fontsource-variable/jetbrains-mono", "@preact/signals", "@preact/signals-core", "lucide", "oauth4webapi", "preact", "uplot",
];

const LETTERS = [...Array(95).keys()].map((index) => String.fromCharCode(32 + index)).join("");
/** The page's own texts need no other letters; those of jobs may, and come from the system's font. */
const FONTS = {
  inter: { letters: `${LETTERS}…–·×’`, weights: { min: 400, max: 650 }, features: ["tnum"] },
  "jetbrains-mono": { letters: `${LETTERS}…–·`, weights: 400, features: [] },
};

// Makes `url("font:inter")` the letters of that font that the page needs.
const fonts = {
  name: "fonts",
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^font:/ }, ({ path }) => ({ path: `${path.slice(5)}.woff2`, namespace: "fonts" }));
    onLoad({ filter: /.*/, namespace: "fonts" }, async ({ path }) => {
      const name = basename(path, ".woff2");
      const whole = readFileSync(join(here, "node_modules", "@fontsource-variable", name, "files", `${name}-latin-wght-normal.woff2`));
      const { letters, weights, features } = FONTS[name];
      return { contents: await subsetFont(whole, letters, { targetFormat: "woff2", keepFeatures: features, variationAxes: { wght: weights } }), loader: "file" };
    });
  },
};

const built = await build({
  absWorkingDir: here,
  preserveSymlinks: true, // names carry a hash of the paths, too: a linked node_modules must not change them
  entryPoints: { app: "src/main.tsx", style: "src/style.css" },
  entryNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  outdir: assets,
  plugins: [fonts, uplotParts],
  chunkNames: "[name]-[hash]",
  bundle: true,
  charset: "utf8",
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  metafile: true,
  minify: true,
  sourcemap: false,
  splitting: true,
  target: "es2022",
  write: false,
});

mkdirSync(assets, { recursive: true });
const wanted = new Set();
for (const file of built.outputFiles) {
  write(file.path, Buffer.from(file.contents));
}
const named = (entry, ending) =>
  built.outputFiles.map((file) => basename(file.path)).find((name) => name.startsWith(`${entry}-`) && name.endsWith(ending));
const page = readFileSync(join(here, "index.html"), "utf8")
  .replace("{{shared}}", `assets/${named("chunk", ".js")}`)
  .replace("{{script}}", `assets/${named("app", ".js")}`)
  .replace("{{style}}", `assets/${named("style", ".css")}`);
write(join(target, "index.html"), Buffer.from(page));
write(join(target, "LICENSES.txt"), Buffer.from(licences()));
removeOthers(target);
removeOthers(assets);

function write(path, content) {
  const packed = `${path}.gz`;
  wanted.add(path);
  writeFileSync(path, content);
  if (path.endsWith(".woff2")) return; // it is packed already
  wanted.add(packed);
  if (!existsSync(packed) || !gunzipSync(readFileSync(packed)).equals(content)) {
    writeFileSync(packed, gzipSync(content, { level: 9 }));
  }
}

// Names each package in the page with its version and licence, and fails when another one got in. Equal texts stand once.
function licences() {
  const inputs = Object.keys(built.metafile.inputs).map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]);
  const found = [...new Set([...inputs.filter(Boolean), ...Object.keys(FONTS).map((name) => `@fontsource-variable/${name}`)])].sort();
  const unknown = found.filter((name) => !BUNDLED.includes(name));
  if (unknown.length > 0) throw new Error(`Bundled without a licence in the list: ${unknown.join(", ")}`);
  const namesOf = new Map();
  for (const name of found) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const text = readFileSync(join(folder, licenceFile(folder)), "utf8").trim();
    namesOf.set(text, [...(namesOf.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  return [...namesOf].map(([text, names]) => `${names.join("\n")}\n\n${text}\n`).join("\n----\n\n");
}

function licenceFile(folder) {
  return readdirSync(folder).find((name) => /^licen[cs]e(\.md)?$/i.test(name));
}

function removeOthers(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isFile() && !wanted.has(path)) rmSync(path);
  }
}

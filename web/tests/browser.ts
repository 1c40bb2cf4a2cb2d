// The browser of the tests, and its end. Playwright's limits end a test, but not a page that never returns from
// its script or its layout: then nothing more is answered, and the tests would stand still.

import { readFileSync, readdirSync } from "node:fs";

/** Debian's browser, which `cargo xtask test` installs; no other is downloaded. */
export const BROWSER = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** The process ids of the browsers that this process launched. */
export function launched(): number[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter(isOurs);
}

function isOurs(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the name in parentheses: the state, and the parent.
    const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    return parent === String(process.pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--remote-debugging");
  } catch {
    // It has ended meanwhile.
    return false;
  }
}

/** Kills browsers with all their processes after so many milliseconds, unless the returned function is called before. */
export function endBrowserAfter(limit: () => number, browsers: readonly number[]): () => void {
  const began = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - began < limit()) return;
    clearInterval(timer);
    for (const pid of browsers) kill(pid);
  }, 250);
  return () => clearInterval(timer);
}

/** Kills a browser. Playwright makes each the leader of a process group. */
function kill(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

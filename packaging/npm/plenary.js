#!/usr/bin/env node
// Runs the binary of this platform, which a package beside this one has.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

function binary() {
  const name = `${process.platform}-${process.arch}`;
  // The static one runs everywhere; npm installs the other one where there is a GNU C library.
  for (const variant of [name, `${name}-musl`]) {
    try {
      return require.resolve(`@plenary/${variant}/bin/plenary`);
    } catch {
      continue;
    }
  }
  console.error(
    `plenary: no package of npm has a binary for ${name}. If one exists, optional dependencies were left out: ` +
      "install again with `npm install --include=optional plenary`.",
  );
  process.exit(1);
}

const program = binary();
const words = process.argv.slice(2);
if (typeof process.execve === "function") {
  process.execve(program, [program, ...words], process.env);
}
const child = spawn(program, words, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  // The binary decides when it ends.
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`plenary: ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));

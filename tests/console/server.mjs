// Starts the real server on a port and a directory of its own, and stops and restarts it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
export const BIN = process.env.PLENARY_BIN ?? join(HERE, '../../target/debug/plenary');

/** @returns {Promise<number>} */
export const freePort = () =>
  new Promise((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => done(typeof address === 'object' && address ? address.port : 0));
    });
  });

const answers = async (url) => {
  for (let n = 0; n < 600; n++) {
    try {
      if ((await fetch(`${url}/readyz`)).ok) return;
    } catch {}
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${url} does not answer`);
};

const program = (command, args, env) => {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'ignore'] });
  const ended = new Promise((done) => child.once('exit', done));
  return { child, ended };
};

/** Starts a server; `more` is put into its environment. `PLENARY_CONSOLE_FRONT` names a program that stands before it, while parts of the server are missing. */
export async function startServer({ quiet = true, host = '127.0.0.1', more = {} } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'plenary-console-'));
  const port = await freePort();
  const front = process.env.PLENARY_CONSOLE_FRONT;
  const frontPort = front ? await freePort() : port;
  const direct = `http://127.0.0.1:${port}`;
  const url = `http://${host}:${frontPort}`;
  const builder = join(HERE, 'fixtures/builder.mjs');
  writeFileSync(
    join(directory, 'plenary.toml'),
    `[agents.builder]\nkind = "exec"\ncommand = ["${process.execPath}", "${builder}"]\nowner = "ida"\n` +
      'purpose = "Builds and releases the parser"\nallowlist = ["@ida.*", "@acme.*"]\n',
  );
  const env = {
    PLENARY_DATA: join(directory, 'data'),
    PLENARY_CONFIG: join(directory, 'plenary.toml'),
    PLENARY_LOG: quiet ? 'error' : 'info',
    PLENARY_PUBLIC_URL: url,
    ...more,
  };
  const run = () => program(BIN, ['serve', '--listen', `127.0.0.1:${port}`], env);
  let server = run();
  await answers(direct);
  const tokenFile = join(directory, 'data', 'operator-token');
  if (!existsSync(tokenFile)) throw new Error('no operator token');
  const operator = readFileSync(tokenFile, 'utf8').trim();
  const before = front
    ? program(process.execPath, [front], { FRONT_PORT: String(frontPort), FRONT_TO: direct, FRONT_OPERATOR: operator })
    : undefined;
  await answers(url);
  return {
    url,
    operator,
    async kill() {
      server.child.kill('SIGKILL');
      await server.ended;
    },
    async restart() {
      server = run();
      await answers(direct);
    },
    async stop() {
      before?.child.kill('SIGKILL');
      server.child.kill('SIGKILL');
      await Promise.all([server.ended, before?.ended]);
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

// A server of its own, a home of its own, and directories in which coding agents work; all of it goes with the test.
// Must not know: any one coding agent.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
export { once };
import { createHash } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The program under test. */
export const BINARY = process.env.PLENARY_BIN ?? fail('PLENARY_BIN names no binary');
/** Where the coding agents are installed: a directory with `node` and `node_modules`. */
export const INSTALLED = process.env.PLENARY_TEST_CODING_AGENTS ?? fail('PLENARY_TEST_CODING_AGENTS names no directory');

/** @param {string} what @returns {never} */
function fail(what) { throw new Error(what); }

/** What a program needs of the environment; nothing of this terminal's own gets through. */
const PLAIN = { PATH: `${INSTALLED}:/usr/local/bin:/usr/bin:/bin`, LANG: 'C.UTF-8', TERM: 'dumb', USER: 'nick' };

/** Every process that runs for a house, so that none is left. @typedef {import('node:child_process').ChildProcess} Child */

export class House {
  /** @type {Child | undefined} */
  #server;
  /** @type {Child[]} */
  #children = [];
  /** @type {string} */
  url = '';

  /** @param {number} [user] who runs everything in it, where that is not the user of this process */
  constructor(user) {
    this.user = user;
    this.root = this.#give(mkdtempSync(join(tmpdir(), 'plenary-coding-agents-')));
    this.home = this.directory('home');
    this.data = join(this.root, 'data');
  }

  /** A server and a home. @param {number} [user] */
  static async begin(user) {
    const house = new House(user);
    await house.serve();
    return house;
  }

  /** Lets the user of the house have a path. @param {string} path */
  #give(path) {
    if (this.user !== undefined) chownSync(path, this.user, this.user);
    return path;
  }

  /** How a program is started in it. */
  #as() { return this.user === undefined ? {} : { uid: this.user, gid: this.user }; }

  /** A directory, made. @param {string} name */
  directory(name) {
    return this.#make(join(this.root, name));
  }

  /** @param {string} path */
  #make(path) {
    if (existsSync(path)) return path;
    this.#make(dirname(path));
    mkdirSync(path);
    return this.#give(path);
  }

  /** The environment of every program. @param {Record<string, string>} [more] */
  env(more = {}) {
    return { ...PLAIN, HOME: this.home, PLENARY_DATA: this.data, PLENARY_HOOK_DEADLINE_MS: '8000', ...more };
  }

  /** Starts the server, where it was if it has been. */
  async serve() {
    const listen = this.url ? new URL(this.url).host : '127.0.0.1:0';
    const server = spawn(BINARY, ['serve', '--listen', listen], { env: this.env(), cwd: this.root, stdio: ['ignore', 'pipe', 'ignore'], ...this.#as() });
    this.#server = server;
    let said = '';
    for await (const chunk of server.stdout) {
      said += chunk;
      const found = /listening on (\S+)/.exec(said);
      if (found) { this.url = found[1]; break; }
    }
    if (!this.url) throw new Error(`the server did not start: ${said}`);
  }

  /** Kills the server as a power cut would. */
  async kill() {
    const server = this.#server;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGKILL');
    await once(server, 'exit');
  }

  /** Runs this program; what it printed. Fails where it fails. @param {string} cwd @param {string[]} args */
  async plenary(cwd, ...args) {
    const ran = await this.run(BINARY, args, { cwd });
    if (ran.code !== 0) throw new Error(`plenary ${args.join(' ')}: ${ran.code}\n${ran.out}\n${ran.err}`);
    return ran.out;
  }

  /** Runs a program to its end. @param {string} program @param {string[]} args
   *  @param {{cwd?: string, env?: Record<string, string>, input?: string, within?: number}} [how] */
  async run(program, args, how = {}) {
    const child = this.start(program, args, how);
    let [out, err] = ['', ''];
    child.stdout?.on('data', (chunk) => { out += chunk; });
    child.stderr?.on('data', (chunk) => { err += chunk; });
    // Who reads no input may have ended before it is written.
    child.stdin?.on('error', () => {});
    child.stdin?.end(how.input ?? '');
    const timer = setTimeout(() => child.kill('SIGKILL'), how.within ?? 60_000);
    const [code] = await once(child, 'close');
    clearTimeout(timer);
    return { code, out, err };
  }

  /** Starts a program. @param {string} program @param {string[]} args @param {{cwd?: string, env?: Record<string, string>}} [how] */
  start(program, args, how = {}) {
    const child = spawn(program, args, { cwd: how.cwd ?? this.root, env: this.env(how.env), stdio: 'pipe', detached: true, ...this.#as() });
    this.#children.push(child);
    return child;
  }

  /** Connects a coding agent in a directory; its handle. @param {string} coding @param {string} directory @param {string[]} more */
  async connect(coding, directory, ...more) {
    const out = await this.plenary(directory, 'connect', coding, '--json', ...more);
    return JSON.parse(out).agent;
  }

  /** Another agent of the same person, who writes from the command line. @param {string} name */
  async peer(name) {
    const directory = this.directory(`peer-${name}`);
    const handle = await this.connect('cursor', directory, '--as', `@nick.${name}`);
    return {
      handle,
      /** Sends a message; the session and its sequence. @param {string} to @param {string} text */
      send: async (to, text) => {
        const made = JSON.parse(await this.plenary(directory, 'session', 'create', '--as', handle, '--invite', to, '--message', text, '--json'));
        return { session: made.session_id, text };
      },
      /** Everything that was written in its inbox so far. */
      inbox: async () => JSON.parse(await this.plenary(directory, 'inbox', '--as', handle, '--json')).items,
      /** Waits for a text. @param {string} text */
      gets: async (text, ms = 15_000) => {
        const until = Date.now() + ms;
        while (Date.now() < until) {
          const out = await this.plenary(directory, 'inbox', '--as', handle, '--json');
          if (out.includes(text)) return;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        throw new Error(`${handle} did not get "${text}" within ${ms} ms`);
      },
      /** How far a message got. @param {{session: string, text: string}} sent @param {string} to */
      state: async (sent, to) => {
        const { events } = JSON.parse(await this.plenary(directory, 'session', 'events', sent.session, '--as', handle, '--json'));
        const { sequence } = events.find((/** @type {any} */ event) => JSON.stringify(event).includes(sent.text));
        const told = JSON.parse(await this.plenary(directory, 'message', 'status', sent.session, `${sequence}`, '--as', handle, '--json'));
        const list = told.recipients ?? told.statuses ?? told;
        return (Array.isArray(list) ? list : Object.values(list)).find((one) => (one.agent ?? one.handle ?? one.to) === to)?.state;
      },
    };
  }

  /** Every file below a directory, with its bytes' digest. @param {string} directory */
  files(directory) {
    /** @type {Record<string, string>} */
    const found = {};
    const look = (/** @type {string} */ path, /** @type {string} */ name) => {
      if (statSync(path).isDirectory()) {
        found[`${name}/`] = '';
        for (const inner of readdirSync(path).sort()) look(join(path, inner), `${name}/${inner}`);
      } else {
        found[name] = createHash('sha256').update(readFileSync(path)).digest('hex');
      }
    };
    if (existsSync(directory)) look(directory, '.');
    return found;
  }

  /** Writes a file. @param {string} path @param {string} text */
  write(path, text) {
    this.#make(dirname(path));
    writeFileSync(path, text);
    this.#give(path);
  }

  /** What hooks of an agent keep of its sessions. @param {string} handle */
  kept(handle) {
    const path = join(this.home, '.local/state/plenary/hooks', `${handle.replace('@', '')}.json`);
    return Object.fromEntries(JSON.parse(readFileSync(path, 'utf8')));
  }

  /** Processes that run in this house, by a piece of their command line. @param {string} piece */
  processes(piece) {
    const found = [];
    for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const around = readFileSync(`/proc/${pid}/environ`, 'utf8');
        if (line.includes(piece) && (line.includes(this.root) || around.includes(this.data))) found.push(Number(pid));
      } catch { /* it has ended, or is not ours */ }
    }
    return found;
  }

  /** What went wrong in hooks. */
  journal() {
    const path = join(this.home, '.local/state/plenary/hook.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** Ends everything and removes it. */
  async end() {
    for (const child of this.#children) {
      if (child.exitCode === null && child.signalCode === null && child.pid) {
        try { process.kill(-child.pid, 'SIGKILL'); } catch { /* it has ended */ }
      }
    }
    await this.kill();
    // What a coding agent leaves running behind it.
    for (const pid of this.processes('')) try { process.kill(pid, 'SIGKILL'); } catch { /* it has ended */ }
    if (!process.env.PLENARY_TEST_KEEP) rmSync(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** Waits until something holds. @param {() => unknown} holds @param {string} what @param {number} ms */
export async function until(holds, what, ms = 20_000) {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    const held = await holds();
    if (held) return held;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`not within ${ms} ms: ${what}`);
}

/** A program that speaks one JSON text a line. */
export class Lines {
  /** @type {any[]} */
  seen = [];
  /** @type {Set<() => void>} */
  #listeners = new Set();
  err = '';

  /** @param {Child} child @param {(message: any) => void} [hears] */
  constructor(child, hears) {
    this.child = child;
    let rest = '';
    child.stdout?.on('data', (chunk) => {
      rest += chunk;
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        let message;
        try { message = JSON.parse(line); } catch { continue; }
        this.seen.push(message);
        hears?.(message);
        for (const listener of this.#listeners) listener();
      }
    });
    child.stderr?.on('data', (chunk) => { this.err += chunk; });
    child.on('exit', () => { for (const listener of this.#listeners) listener(); });
  }

  /** @param {any} message */
  say(message) { this.child.stdin?.write(`${JSON.stringify(message)}\n`); }

  /** The first message from a place on that fulfils something. @param {(message: any) => boolean} wanted @param {number} from @param {number} ms */
  async hears(wanted, from = 0, ms = 45_000) {
    return await new Promise((resolve, reject) => {
      const done = (/** @type {() => void} */ end) => { clearTimeout(timer); this.#listeners.delete(look); end(); };
      const look = () => {
        const found = this.seen.slice(from).find(wanted);
        if (found) done(() => resolve(found));
        else if (this.child.exitCode !== null) done(() => reject(new Error(`it ended with ${this.child.exitCode}: ${this.err.slice(-2000)}`)));
      };
      const timer = setTimeout(() => done(() => reject(new Error(`nothing such within ${ms} ms; ${this.err.slice(-1000)} ${JSON.stringify(this.seen.slice(-3)).slice(0, 3000)}`))), ms);
      this.#listeners.add(look);
      look();
    });
  }
}

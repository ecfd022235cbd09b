// A real server for the tests: the binary that PLENARY_BIN names, on a free port, with a temporary store.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type Socket, type Server as NetServer, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext } from "node:test";

import { Plenary } from "../src/index.js";

/** One process of the server, and the ones after it on the same port and store. */
export class Server {
  url = "http://127.0.0.1:0";
  readonly directory = mkdtempSync(join(tmpdir(), "plenary-client-"));
  private process?: ChildProcess;

  static async start(test: TestContext): Promise<Server> {
    const server = new Server();
    test.after(async () => {
      await server.kill();
      rmSync(server.directory, { recursive: true, force: true });
    });
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    const binary = process.env["PLENARY_BIN"];
    if (!binary) throw new Error("PLENARY_BIN is not set");
    const data = join(this.directory, "data");
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(PLENARY|OTEL)_/.test(name)));
    this.process = spawn(binary, ["serve", "--data", data, "--listen", this.url.replace("http://", "")], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...env, XDG_CONFIG_HOME: this.directory },
    });
    for await (const line of createInterface({ input: this.process.stdout! })) {
      const found = /^listening on (\S+)/.exec(line);
      if (!found) throw new Error(line);
      this.url = found[1]!;
      return;
    }
    throw new Error("the server did not start");
  }

  /** As a crash does: without a word. */
  async kill(): Promise<void> {
    if (this.process && this.process.exitCode === null && this.process.signalCode === null) {
      this.process.kill("SIGKILL");
      await once(this.process, "exit");
    }
  }

  get operator(): Plenary {
    const token = readFileSync(join(this.directory, "data/operator-token"), "utf8").trim();
    return new Plenary({ url: this.url, token });
  }

  /** The token of a new agent. */
  async agent(handle: string): Promise<string> {
    return (await this.operator.agent.create({ handle, policy: "open" })).token;
  }
}

/** A proxy that breaks connections when a test says so. */
export class Proxy {
  private open = new Set<Socket>();
  private swallows = false;

  private constructor(private readonly listener: NetServer) {}

  static async before(server: Server, test: TestContext): Promise<Proxy> {
    const { hostname, port } = new URL(server.url);
    const listener = createServer();
    const proxy = new Proxy(listener);
    listener.on("connection", (client) => {
      const target = connect(Number(port), hostname);
      for (const one of [client, target]) {
        proxy.open.add(one);
        one.on("error", () => {});
        one.on("close", () => {
          client.destroy();
          target.destroy();
        });
      }
      client.on("data", (data) => target.write(data));
      target.on("data", (data) => {
        if (proxy.swallows) {
          proxy.swallows = false;
          client.destroy();
        } else client.write(data);
      });
    });
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    test.after(() => {
      listener.close();
      proxy.cut();
    });
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.listener.address() as { port: number }).port}`;
  }

  /** Breaks what is open. */
  cut(): void {
    for (const one of this.open) one.destroy();
    this.open.clear();
  }

  /** Loses the next answer. */
  swallow(): void {
    this.swallows = true;
  }
}

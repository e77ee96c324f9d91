/** A service in its own folder that is repeatedly killed together with its embedded Postgres. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, launchServer, startServer, untilReady, type TestServer } from '../support/server.ts';
import { killProcesses, killEverything, processesOf, untilGone } from './kill.ts';

interface Launch {
  readonly folder: string;
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
}

export class KilledService {
  readonly folder: string;
  readonly #launch: Launch;
  #server: TestServer;

  private constructor(server: TestServer, launch: Launch) {
    this.folder = launch.folder;
    this.#launch = launch;
    this.#server = server;
  }

  /** Resolves when it is ready. */
  static async start(environment: Readonly<Record<string, string>> = {}): Promise<KilledService> {
    const launch = { folder: await mkdtemp(join(tmpdir(), 'tablog-killed-')), port: await freePort(), environment };
    return new KilledService(await startServer(launch), launch);
  }

  /** The URL, which is the same after each start. */
  get url(): string {
    return this.#server.url;
  }

  token(): Promise<string> {
    return this.#server.token();
  }

  /** Kills everything at random times, and starts it again. It is ready at the end. */
  async killRepeatedly(kills: number, random: () => number): Promise<void> {
    for (let count = 0; count < kills; count += 1) {
      await untilReady(this.#server);
      await sleep(50 + random() * 1200);
      const exited = once(this.#server.process, 'exit');
      await Promise.all([killProcesses(await processesOf(this.#server)), exited]);
      this.#server = await launchServer(this.#launch);
    }
    await untilReady(this.#server);
  }

  /** Ends the service with SIGTERM. Resolves to its exit code when none of its processes is running. */
  async stop(): Promise<number | null> {
    const processes = await processesOf(this.#server);
    const exitCode = await this.#server.stop();
    await untilGone(processes);
    return exitCode;
  }

  /** Ends the remaining processes, and removes the folder. */
  async remove(): Promise<void> {
    await killEverything(this.#server);
    await rm(this.folder, { recursive: true, force: true });
  }
}

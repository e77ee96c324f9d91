/** A node of Kafka as a local process: a broker, a controller, or both. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killChild } from '../kill-child.ts';
import { brokerSettings, type Broker, type BrokerPorts } from './broker-settings.ts';
import { freePort } from '../server.ts';
import { compileClock, fetchJars, javaArgs, runTool } from './kafka-jars.ts';
import { untilBrokerAnswers } from './until-broker-answers.ts';

/** All clusters of the tests have the same ID, because none of them can reach another one. */
const clusterId = '5L6g3nShT-eMCtK--X86sw';

/** Options of Java for a single broker. */
const javaOptions = ['-Xms128m', '-Xmx384m', '-XX:+UseSerialGC'];

interface NodeOptions {
  /** Settings in addition to `brokerSettings`. */
  readonly settings: Readonly<Record<string, string>>;
  /** The address at which it answers clients, as host and port; null if it is only a controller. */
  readonly answersAt: string | null;
  readonly javaOptions: readonly string[];
}

export class KafkaNode {
  readonly #folder: string;
  readonly #options: NodeOptions;
  #child: ChildProcess | null = null;
  /** How far its clock will be ahead from the next start on, in milliseconds. Requires `canShiftClocks`. */
  clockAheadMs = 0;

  private constructor(folder: string, options: NodeOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /** Creates its folder, without starting it. */
  static async create(options: NodeOptions): Promise<KafkaNode> {
    await fetchJars();
    const node = new KafkaNode(await mkdtemp(join(tmpdir(), 'tablog-test-kafka-')), options);
    const settings = { ...brokerSettings, ...options.settings, 'log.dirs': node.dataFolder };
    await writeFile(
      node.#settingsFile,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    await runTool('kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', node.#settingsFile);
    return node;
  }

  /** The folder that has a subfolder for each partition. */
  get dataFolder(): string {
    return join(this.#folder, 'data');
  }

  get #settingsFile(): string {
    return join(this.#folder, 'server.properties');
  }

  /** Resolves when it runs. It may not answer yet. */
  async launch(): Promise<ChildProcess> {
    if (this.clockAheadMs !== 0) await compileClock();
    const child = spawn(
      'java',
      [...this.#options.javaOptions, ...javaArgs(this.clockAheadMs), 'kafka.Kafka', this.#settingsFile],
      { stdio: 'ignore' },
    );
    this.#child = child;
    await once(child, 'spawn');
    return child;
  }

  /** Resolves when it answers, or, if it is only a controller, when it runs. Rejects if it ends before that. */
  async start(): Promise<void> {
    const child = await this.launch();
    const { answersAt } = this.#options;
    if (answersAt === null) return;
    const died = once(child, 'exit').then(() => Promise.reject(new Error('the broker died')));
    await Promise.race([untilBrokerAnswers(answersAt), died]);
    died.catch(() => undefined);
  }

  /** Pauses it; its connections stay open. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  /** Continues it after a pause. */
  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Kills it, even if it is paused. */
  async kill(): Promise<void> {
    await killChild(this.#child);
  }

  /** Copies its data, under a name. It must be killed. */
  async backUp(name: string): Promise<void> {
    await cp(this.dataFolder, this.#backup(name), { recursive: true });
  }

  /** Replaces its data by a copy. It must be killed. */
  async restore(name: string): Promise<void> {
    await rm(this.dataFolder, { recursive: true });
    await cp(this.#backup(name), this.dataFolder, { recursive: true });
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #backup(name: string): string {
    return join(this.#folder, `backup-${name}`);
  }
}

/** A single broker, and its node. */
export interface BrokerProcess extends Broker {
  readonly node: KafkaNode;
}

/** Starts a broker on free ports of 127.0.0.1, with its own folder. */
export async function startBrokerProcess(ports: BrokerPorts = {}): Promise<BrokerProcess> {
  const [port, controllerPort] = [ports.port ?? (await freePort()), await freePort()];
  const address = `127.0.0.1:${ports.advertised ?? port}`;
  const node = await KafkaNode.create({
    settings: {
      'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
      'listeners': `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
      'advertised.listeners': `PLAINTEXT://${address}`,
    },
    answersAt: address,
    javaOptions,
  });
  const broker = brokerOf([node], address);
  try {
    await broker.start();
  } catch (error) {
    await broker.remove();
    throw error;
  }
  return { ...broker, node };
}

/** Several nodes as one broker: each operation applies to all of them. */
export function brokerOf(nodes: readonly KafkaNode[], address: string): Broker {
  const each = async (work: (node: KafkaNode) => Promise<void>): Promise<void> => {
    await Promise.all(nodes.map(work));
  };
  return {
    address,
    where: `${nodes.length === 1 ? 'a process' : `${nodes.length} processes`}, from the jars of Apache Kafka 4.3.1`,
    kill: () => each((node) => node.kill()),
    start: () => each((node) => node.start()),
    backUp: (name) => each((node) => node.backUp(name)),
    restore: (name) => each((node) => node.restore(name)),
    remove: () => each((node) => node.remove()),
  };
}

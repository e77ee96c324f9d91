/** Two processes that answer requests and two that project, with a Kafka and a Postgres that may also be killed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../src/storage/embedded/embedded-postgres.ts';
import type { Broker, BrokerPorts } from '../../support/kafka/broker-settings.ts';
import { startBroker } from '../../support/kafka/shared-kafka.ts';
import { Client } from '../../support/client.ts';
import { freePort, launchServer, untilReady, type ProcessRole, type TestServer } from '../../support/server.ts';
import { startWithStandby, type Standby } from '../../support/standby.ts';
import { CutLine } from '../cut-line.ts';
import { killProcesses, withDescendants } from '../kill.ts';
import type { SupervisedPlace } from '../supervisor.ts';
import { verify } from '../verify.ts';

interface Place extends SupervisedPlace {
  readonly role: ProcessRole;
}

export interface KafkaDeploymentOptions {
  readonly roles?: readonly ProcessRole[];
  readonly ports?: BrokerPorts;
  /** A broker that already runs. It is removed with the deployment. If omitted, a new one is started. */
  readonly broker?: Broker;
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether each process has its own consumer group, so that the partitions are not shared. */
  readonly groupsApart?: boolean;
  readonly nodeArgs?: readonly string[];
  /** Whether Postgres has an asynchronous standby, for `failOver`. Such a Postgres is not restarted. */
  readonly hasStandby?: boolean;
}

export class KafkaDeployment {
  readonly broker: Broker;
  readonly places: readonly Place[];
  readonly standby: Standby | null;
  readonly #folder: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #nodeArgs: readonly string[];
  readonly #groupsApart: boolean;
  #postgres: EmbeddedPostgres;
  /** Postgres starts on another port each time. The service reaches it at the port of this line. */
  readonly #line: CutLine;

  private constructor(
    broker: Broker,
    { primary, standby }: { readonly primary: EmbeddedPostgres; readonly standby: Standby | null },
    line: CutLine,
    folder: string,
    places: readonly Place[],
    launch: Required<Pick<KafkaDeploymentOptions, 'environment' | 'nodeArgs' | 'groupsApart'>>,
  ) {
    this.broker = broker;
    this.#postgres = primary;
    this.standby = standby;
    this.#line = line;
    this.#folder = folder;
    this.places = places;
    this.#environment = launch.environment;
    this.#nodeArgs = launch.nodeArgs;
    this.#groupsApart = launch.groupsApart;
  }

  /** Resolves when everything is ready. */
  static async start(options: KafkaDeploymentOptions = {}): Promise<KafkaDeployment> {
    const {
      roles = ['api', 'api', 'projector', 'projector'],
      ports,
      nodeArgs = [],
      groupsApart = false,
      hasStandby = false,
    } = options;
    const folder = await mkdtemp(join(tmpdir(), 'tablog-kafka-'));
    // One after the other, so that no Postgres is left running if the broker does not start.
    const broker = options.broker ?? (await startBroker(ports));
    const postgres = hasStandby
      ? await startWithStandby(join(folder, 'postgres'), { synchronous: false })
      : {
          primary: await startEmbeddedPostgres({ folder: join(folder, 'postgres'), log: () => undefined }),
          standby: null,
        };
    const line = await CutLine.open(portOf(postgres.primary));
    const environment = { ...options.environment, KAFKA_BROKERS: broker.address };
    const places: Place[] = [];
    const deployment = new KafkaDeployment(broker, postgres, line, folder, places, {
      environment,
      nodeArgs,
      groupsApart,
    });
    try {
      for (const role of roles) {
        const port = await freePort();
        const launch = (): Promise<TestServer> => deployment.#launch(role, port);
        places.push({ role, launch, server: await launch() });
      }
      await deployment.untilReady();
      return deployment;
    } catch (error) {
      await deployment.stop('SIGKILL');
      throw error;
    }
  }

  /** The settings with which the command line finds the same log and tables. */
  get environment(): Readonly<Record<string, string>> {
    return { KAFKA_BROKERS: this.broker.address, DATABASE_URL: this.#databaseUrl };
  }

  /** The places of a role. */
  of(...roles: readonly ProcessRole[]): Place[] {
    return this.places.filter(({ role }) => roles.includes(role));
  }

  /** A client of the first team for each process that answers requests. */
  async clients(): Promise<Client[]> {
    const serving = this.of('api', 'all');
    const token = await serving[0]!.server.token();
    return serving.map(({ server }) => new Client(server.url, token));
  }

  async untilReady(): Promise<void> {
    await Promise.all(this.places.map(({ server }) => untilReady(server)));
  }

  /** Kills processes of the service together, as a power cut does. */
  async kill(places: readonly Place[]): Promise<void> {
    await killProcesses(places.map(({ server }) => server.process.pid!));
  }

  async restart(places: readonly Place[]): Promise<void> {
    for (const place of places) place.server = await place.launch();
  }

  async killPostgres(): Promise<void> {
    this.#line.target = null;
    await killProcesses([this.#postgres.pid]);
  }

  async restartPostgres(): Promise<void> {
    await this.#postgres.stop();
    this.#postgres = await startEmbeddedPostgres({ folder: join(this.#folder, 'postgres'), log: () => undefined });
    this.#line.target = portOf(this.#postgres);
  }

  /** Kills Postgres as a power cut does, and promotes its standby, which then has its address. */
  async failOver(): Promise<void> {
    this.#line.target = null;
    await killProcesses(await withDescendants([this.#postgres.pid]));
    this.#line.target = portOf(await this.standby!.promote());
  }

  /** The result of `tablog verify` on the read model. */
  verify(): ReturnType<typeof verify> {
    return verify(this.environment);
  }

  /** The output of the processes. */
  output(): string {
    return this.places.map(({ role, server }) => `--- ${role} ${server.url}\n${server.output()}`).join('\n');
  }

  /** Stops everything. Resolves to the exit codes of the service's processes. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<(number | null)[]> {
    const exitCodes = await Promise.all(this.places.map(({ server }) => server.stop(signal)));
    await Promise.all([this.#postgres.stop(), this.standby?.stop(), this.broker.remove(), this.#line.close()]);
    await rm(this.#folder, { recursive: true, force: true });
    return exitCodes;
  }

  get #databaseUrl(): string {
    const url = new URL(this.#postgres.url);
    url.port = String(this.#line.port);
    return url.href;
  }

  #launch(ROLE: ProcessRole, port: number): Promise<TestServer> {
    return launchServer({
      databaseUrl: this.#databaseUrl,
      folder: join(this.#folder, 'data'),
      port,
      nodeArgs: this.#nodeArgs,
      environment: { ...this.#environment, ROLE, ...(this.#groupsApart ? { KAFKA_GROUP: `group-${port}` } : {}) },
    });
  }
}

function portOf(postgres: EmbeddedPostgres): number {
  return Number(new URL(postgres.url).port);
}

/** The service as it is measured: started as anybody starts it, as one process or as several with a role each. */
import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type Server } from './processes.ts';
import type { Target } from './requests.ts';

export type Role = 'all' | 'api' | 'projector';

export interface ServiceSettings {
  /** DATABASE_URL and KAFKA_*, as its processes and the command line have them. */
  environment: Readonly<Record<string, string>>;
  /** For its data and its logs. */
  folder: string;
  /** Takes a CPU profile of each process. */
  profileFolder?: string | undefined;
}

export interface Service {
  /** In the order of their roles. */
  processes: readonly Server[];
  target: Target;
}

const source = join(import.meta.dirname, '..', 'src');

/** The script of the command line. */
export const tablog = join(source, 'cli', 'tablog.ts');

/** The environment of a service on this Postgres, and on a topic and group of these brokers if there are any. */
export function serviceEnvironment(
  databaseUrl: string, brokers: string | undefined, topic: string,
): Record<string, string> {
  // An empty setting is none: what this process has must not reach the service.
  const kafka = brokers === undefined
    ? { KAFKA_BROKERS: '', KAFKA_TOPIC: '', KAFKA_GROUP: '' }
    : { KAFKA_BROKERS: brokers, KAFKA_TOPIC: topic, KAFKA_GROUP: topic };
  return { DATABASE_URL: databaseUrl, ...kafka };
}

/**
 * Starts the processes one after the other, each when the one before is ready; `resources` stops them. An API is ready
 * only when something projects, so the projectors come first.
 */
export async function startService(
  settings: ServiceSettings, roles: readonly Role[], resources: AsyncDisposableStack, signal: AbortSignal,
): Promise<Service> {
  const processes: Server[] = [];
  for (const [index, role] of roles.entries()) {
    processes.push(await startServiceProcess(settings, role, `${role}-${index + 1}`, resources, signal));
  }
  const token = (await readFile(join(settings.folder, 'token'), 'utf8')).trim();
  const ports = processes.filter((_, index) => roles[index] !== 'projector').map(({ port }) => port);
  return { processes, target: { ports, token } };
}

/** Starts one process of a service. `name` is of its own: that of its log. */
export async function startServiceProcess(
  { environment, folder, profileFolder }: ServiceSettings, role: Role, name: string,
  resources: AsyncDisposableStack, signal: AbortSignal,
): Promise<Server> {
  await mkdir(folder, { recursive: true });
  return startServer({
    name: `the service's process ${name}`,
    nodeArguments: [
      ...(profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : []),
      // As `npm start` runs it.
      '--max-semi-space-size=16',
      join(source, 'main.ts'),
    ],
    environment: { ...environment, DATA_DIR: folder, ROLE: role, MALLOC_ARENA_MAX: '1' },
    logFile: join(folder, `${name}.log`),
  }, resources, signal);
}

/** A folder that outlives the run, and is told. */
export async function makeProfileFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-profile-'));
  console.log(`CPU profile of the service, written when it stops: ${folder}`);
  return folder;
}

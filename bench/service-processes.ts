/** Starts the service to measure like in production: one process, or several with a role each. */
import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type Server } from './processes.ts';
import type { Target } from './requests.ts';

export type Role = 'all' | 'api' | 'projector';

export interface ServiceSettings {
  /** DATABASE_URL and KAFKA_*, for its processes and the command line. */
  environment: Readonly<Record<string, string>>;
  /** The folder for its data and logs. */
  folder: string;
  /** If set, each process writes a CPU profile there. */
  profileFolder?: string | undefined;
  /** The port of its process. Default: a free port. */
  port?: number | undefined;
}

export interface Service {
  /** In the order of their roles. */
  processes: readonly Server[];
  target: Target;
}

const source = join(import.meta.dirname, '..', 'src');

/** The script of the command line. */
export const tablog = join(source, 'cli', 'tablog.ts');

/** The environment of a service on this Postgres and, if there are brokers, on a topic and consumer group of theirs. */
export function serviceEnvironment(
  databaseUrl: string,
  brokers: string | undefined,
  topic: string,
): Record<string, string> {
  // Empty settings count as unset, and hide the settings of this process from the service.
  const kafka =
    brokers === undefined
      ? { KAFKA_BROKERS: '', KAFKA_TOPIC: '', KAFKA_GROUP: '' }
      : { KAFKA_BROKERS: brokers, KAFKA_TOPIC: topic, KAFKA_GROUP: topic };
  return { DATABASE_URL: databaseUrl, ...kafka };
}

/**
 * Starts the processes one after the other, each when the previous one is ready; `resources` stops them. List
 * projectors first, because an API is ready only when something projects.
 */
export async function startService(
  settings: ServiceSettings,
  roles: readonly Role[],
  resources: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Service> {
  const processes: Server[] = [];
  for (const [index, role] of roles.entries()) {
    processes.push(await startServiceProcess(settings, role, `${role}-${index + 1}`, resources, signal));
  }
  const token = (await readFile(join(settings.folder, 'token'), 'utf8')).trim();
  const ports = processes.filter((_, index) => roles[index] !== 'projector').map(({ port }) => port);
  return { processes, target: { ports, token } };
}

/** Starts one process of a service. `name` must be unique; it names the log file. */
export async function startServiceProcess(
  { environment, folder, profileFolder, port }: ServiceSettings,
  role: Role,
  name: string,
  resources: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Server> {
  await mkdir(folder, { recursive: true });
  return startServer(
    {
      name: `the service's process ${name}`,
      nodeArguments: [
        ...(profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : []),
        // Like `npm start`.
        '--max-semi-space-size=16',
        '--max-old-space-size=1024',
        join(source, 'main.ts'),
      ],
      environment: {
        ...environment,
        DATA_DIR: folder,
        ROLE: role,
        MALLOC_ARENA_MAX: '1',
        MALLOC_MMAP_THRESHOLD_: '1048576',
      },
      logFile: join(folder, `${name}.log`),
      port,
    },
    resources,
    signal,
  );
}

/** Creates a folder that outlives the run, and prints its path. */
export async function makeProfileFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-profile-'));
  console.log(`CPU profile of the service, written when it stops: ${folder}`);
  return folder;
}

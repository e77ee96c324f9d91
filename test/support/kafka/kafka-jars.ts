/** The jars of Apache Kafka, which Maven fetches once, and the arguments with which Java runs them. */
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = import.meta.dirname;
const cache = join(here, '..', '..', '..', 'node_modules', '.cache', 'tablog');
const jars = join(cache, 'kafka-4.3.1');
const clock = join(cache, 'kafka-clock');

async function works(command: string, args: readonly string[]): Promise<boolean> {
  return run(command, args).then(
    () => true,
    () => false,
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Whether Java 17 or later is installed, and either Maven or the fetched jars. */
export async function canRunBroker(): Promise<boolean> {
  return (await works('java', ['-version'])) && ((await exists(jars)) || works('mvn', ['-v']));
}

/** Whether brokers can also have a wrong clock, which needs a Java compiler. */
export async function canShiftClocks(): Promise<boolean> {
  return (await works('javac', ['-version'])) && canRunBroker();
}

/** Runs a program of Kafka to its end. */
export async function runTool(...args: readonly string[]): Promise<void> {
  await run('java', [...javaArgs(), ...args]);
}

/**
 * The arguments with which Java finds Kafka. The broker's clock is ahead by `clockAheadMs` milliseconds. Call
 * `fetchJars` and `compileClock` first.
 */
export function javaArgs(clockAheadMs = 0): readonly string[] {
  const log4j = `-Dlog4j2.configurationFile=${join(here, 'log4j2.properties')}`;
  // If several classes have the same name, Java takes the first.
  const shifted = clockAheadMs === 0 ? '' : `${clock}:`;
  return ['-cp', `${shifted}${join(jars, '*')}`, log4j, `-Dtablog.test.clockAheadMs=${clockAheadMs}`];
}

/** Fetches the jars unless they exist. Safe to call concurrently. */
export async function fetchJars(): Promise<void> {
  await makeFolder(jars, (folder) =>
    run('mvn', [
      '-q',
      '-B',
      '-f',
      join(here, 'pom.xml'),
      'dependency:copy-dependencies',
      `-DoutputDirectory=${folder}`,
      '-DincludeScope=runtime',
    ]),
  );
}

/** Compiles the shifted clock, unless that was already done. Safe to call concurrently. */
export async function compileClock(): Promise<void> {
  await makeFolder(clock, (folder) =>
    run('javac', ['-cp', join(jars, '*'), '-d', folder, join(here, 'SystemTime.java')]),
  );
}

/** Fills a new folder and then renames it, so that nobody ever sees it half filled. */
async function makeFolder(path: string, fill: (folder: string) => Promise<unknown>): Promise<void> {
  if (await exists(path)) return;
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(`${path}-`);
  await fill(folder);
  await rename(folder, path).catch(() => rm(folder, { recursive: true, force: true }));
}

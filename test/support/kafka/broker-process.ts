/** A broker as a local process, from jars that Maven fetches once. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { killChild } from '../kill-child.ts';
import { brokerSettings, type Broker, type BrokerPorts } from './broker-settings.ts';
import { freePort } from '../server.ts';
import { untilBrokerAnswers } from './until-broker-answers.ts';

const run = promisify(execFile);
const here = import.meta.dirname;
const jars = join(here, '..', '..', '..', 'node_modules', '.cache', 'tablog', 'kafka-4.3.1');

/** Whether Java 17 or later is installed, and either Maven or the fetched jars. */
export async function canRunBroker(): Promise<boolean> {
  const works = (command: string, args: readonly string[]): Promise<boolean> => run(command, args).then(() => true, () => false);
  const hasJars = await access(jars).then(() => true, () => false);
  return (await works('java', ['-version'])) && (hasJars || works('mvn', ['-v']));
}

/** Starts a broker on free ports of 127.0.0.1, with a folder of its own. */
export async function startBrokerProcess(ports: BrokerPorts = {}): Promise<Broker> {
  await fetchJars();
  const folder = await mkdtemp(join(tmpdir(), 'tablog-test-kafka-'));
  const [port, controllerPort] = [ports.port ?? (await freePort()), await freePort()];
  const address = `127.0.0.1:${ports.advertised ?? port}`;
  const settings = {
    ...brokerSettings,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${address}`,
    'log.dirs': join(folder, 'data'),
  };
  const file = join(folder, 'server.properties');
  await writeFile(file, Object.entries(settings).map(([name, value]) => `${name}=${value}\n`).join(''));
  const java = ['-cp', join(jars, '*'), `-Dlog4j2.configurationFile=${join(here, 'log4j2.properties')}`];
  const { stdout: id } = await run('java', [...java, 'kafka.tools.StorageTool', 'random-uuid']);
  await run('java', [...java, 'kafka.tools.StorageTool', 'format', '-t', id.trim(), '-c', file]);

  let child: ChildProcess | null = null;
  const kill = (): Promise<void> => killChild(child);
  const start = async (): Promise<void> => {
    child = spawn('java', ['-Xms128m', '-Xmx384m', '-XX:+UseSerialGC', ...java, 'kafka.Kafka', file], { stdio: 'ignore' });
    const died = once(child, 'exit').then(() => Promise.reject(new Error('the broker died')));
    await Promise.race([untilBrokerAnswers(address), died]);
    died.catch(() => undefined);
  };
  const remove = async (): Promise<void> => {
    await kill();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    address, where: 'a process, from the jars of Apache Kafka 4.3.1', kill, start, remove,
    backUp: (name) => cp(join(folder, 'data'), join(folder, `backup-${name}`), { recursive: true }),
    restore: async (name) => {
      await rm(join(folder, 'data'), { recursive: true });
      await cp(join(folder, `backup-${name}`), join(folder, 'data'), { recursive: true });
    },
  };
}

/** Fetches the jars unless they exist. Safe to call concurrently. */
async function fetchJars(): Promise<void> {
  if (await access(jars).then(() => true, () => false)) return;
  await mkdir(join(jars, '..'), { recursive: true });
  const fetched = await mkdtemp(`${jars}-`);
  await run('mvn', [
    '-q', '-B', '-f', join(here, 'pom.xml'), 'dependency:copy-dependencies', `-DoutputDirectory=${fetched}`,
    '-DincludeScope=runtime',
  ]);
  await rename(fetched, jars).catch(() => rm(fetched, { recursive: true, force: true }));
}

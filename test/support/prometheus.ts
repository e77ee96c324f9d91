/**
 * A Prometheus that watches a service with the files of deploy/, at the pace of tests. Needs the same packages as
 * support/promtool.ts.
 */
import { spawn } from 'node:child_process';
import { readFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { killChild } from './kill-child.ts';
import { freePort, sleepUntil } from './server.ts';
import { deployFolder } from './watching.ts';

export interface ActiveAlert {
  readonly state: 'pending' | 'firing';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Whether the last scrape of a target succeeded; `unknown` before the first. */
interface ScrapeTarget {
  readonly health: 'up' | 'down' | 'unknown';
  readonly lastError: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  /** The time, and the value as text. */
  readonly value: readonly [number, string];
}

export interface Prometheus {
  targets(): Promise<readonly ScrapeTarget[]>;
  /** Alerts that are pending or firing. */
  alerts(): Promise<readonly ActiveAlert[]>;
  /** When the last group of rules was evaluated, in milliseconds since 1970; 0: not all have been evaluated yet. */
  evaluatedAt(): Promise<number>;
  /** Rejects if it is not PromQL. */
  query(expression: string): Promise<readonly Series[]>;
  stop(): Promise<void>;
}

/** Starts it on 127.0.0.1. `targets`: addresses like `127.0.0.1:8080`. */
export async function startPrometheus(targets: readonly string[]): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-prometheus-'));
  await writeFile(join(folder, 'prometheus.yml'), stringify(await configOf(targets)));
  await writeFile(join(folder, 'alerts.yml'), await hastened());
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.on('error', (error) => {
    output += String(error);
  });
  const stop = async (): Promise<void> => {
    await killChild(child);
    await rm(folder, { recursive: true, force: true });
  };
  const ask = async <T>(path: string): Promise<T> => {
    const { status, data, error } = (await (await fetch(`${url}/api/v1/${path}`)).json()) as {
      readonly status: string;
      readonly data: T;
      readonly error?: string;
    };
    if (status !== 'success') throw new Error(`${path}: ${error}`);
    return data;
  };
  try {
    await sleepUntil(async () => {
      if (child.pid === undefined || child.exitCode !== null) throw new Error(`Prometheus has ended: ${output}`);
      return fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    }, 'Prometheus is ready');
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    stop,
    targets: async () =>
      (await ask<{ readonly activeTargets: readonly ScrapeTarget[] }>('targets?state=active')).activeTargets,
    alerts: async () => (await ask<{ readonly alerts: readonly ActiveAlert[] }>('alerts')).alerts,
    evaluatedAt: async () => {
      const { groups } = await ask<{ readonly groups: readonly { readonly lastEvaluation: string }[] }>('rules');
      return Math.max(0, Math.min(...groups.map(({ lastEvaluation }) => Date.parse(lastEvaluation))));
    },
    query: async (expression) =>
      (await ask<{ readonly result: readonly Series[] }>(`query?query=${encodeURIComponent(expression)}`)).result,
  };
}

/**
 * The configuration of docs/reference/metrics.md, with these targets, scraped every two seconds. A scrape that takes
 * longer fails.
 */
async function configOf(targets: readonly string[]): Promise<object> {
  const [, example] = /```yaml\n(rule_files:[^`]*)```/.exec(
    await readFile(join(deployFolder, '../docs/reference/metrics.md'), 'utf8'),
  )!;
  const {
    scrape_configs: [job, ...others],
    ...rest
  } = parse(example!) as { readonly scrape_configs: readonly object[] };
  if (others.length > 0) throw new Error('docs/reference/metrics.md has an example with several jobs');
  return {
    ...rest,
    global: { scrape_interval: '2s', evaluation_interval: '1s' },
    scrape_configs: [{ ...job, static_configs: [{ targets }] }],
  };
}

/** The alerts of deploy/. Each minute that they wait before they fire becomes a second. */
async function hastened(): Promise<string> {
  return (await readFile(join(deployFolder, 'prometheus/alerts.yml'), 'utf8')).replace(/^( +for: \d+)m$/gm, '$1s');
}

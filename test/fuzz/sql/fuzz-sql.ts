/** Asks random SQL of a service, one query at a time, and watches the process that answers it. */
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { outcomeOf, type Answer, type Client } from '../../support/client.ts';
import { findQueryProcess } from '../../support/query-processes.ts';
import { sleepUntil } from '../../support/server.ts';
import type { SqlGenerator } from './calls.ts';
import { problemOf } from './judge.ts';

interface SqlFuzzOptions {
  /** The process ID of the service. */
  readonly service: number;
  readonly generator: SqlGenerator;
  /** Makes a team that has the table `t`. A team that ended the process must wait with SQL, so another goes on. */
  readonly newClient: () => Promise<Client>;
  /** Rejects if a query of another kind and team is not answered as it should be. */
  readonly askNeighbour: () => Promise<void>;
  /** What the service and its query processes have logged. */
  readonly output: () => string;
  /** What the process may take, in bytes. */
  readonly memoryMax: number;
}

const neighbourEvery = 100;

export class SqlFuzz {
  readonly #options: SqlFuzzOptions;
  #client: Client | null = null;
  #process: number | null = null;
  /** What was found, with its SQL. */
  readonly findings: string[] = [];
  /** How often there was each outcome. */
  readonly outcomes = new Map<string, number>();
  /** The last query that ran out of time. Its work can end the process while the next one is asked. */
  #late: string | null = null;
  asked = 0;
  /** The most memory that the process has taken, in bytes. */
  memoryPeak = 0;

  constructor(options: SqlFuzzOptions) {
    this.#options = options;
  }

  /** Asks SQL that calls each of the functions, once. */
  async round(names: readonly string[], endsAt: number): Promise<void> {
    for (const name of names) {
      if (performance.now() > endsAt) return;
      await this.ask(this.#options.generator.select(name));
    }
  }

  /** Asks SQL, and notes what is wrong with its answer or with the process. */
  async ask(sql: string): Promise<void> {
    this.#client ??= await this.#options.newClient();
    this.#process ??= await this.#findProcess();
    this.asked += 1;
    const before = this.#process;
    const answer = await this.#client.post('/query', { sql }).catch((error: unknown) => error as Error);
    if (answer instanceof Error)
      this.#note(sql, `the answer does not have the shape of the interface: ${answer.message}`);
    else this.#judge(sql, answer);
    const memory = await peakOf(before);
    if (memory === null || (await findQueryProcess(this.#options.service, 'sql')) !== before) {
      this.#process = null;
      // It may end by itself, to give back what earlier SQL took.
      if (await this.#hasGivenBack(before)) return;
      this.#note(sql, 'the process ended');
      this.#client = null;
      return;
    }
    this.memoryPeak = Math.max(this.memoryPeak, memory);
    if (memory > this.#options.memoryMax) {
      this.#note(sql, `the process took ${memory} bytes`);
      // Begins to measure anew.
      await writeFile(`/proc/${before}/clear_refs`, '5');
    }
    if (this.asked % neighbourEvery === 0) await this.#options.askNeighbour();
  }

  /**
   * Whether the process said that it ends because it keeps too much memory. What it said last may still be on its way.
   */
  async #hasGivenBack(id: number): Promise<boolean> {
    const said = (): boolean =>
      this.#options
        .output()
        .split('\n')
        .some((line) => line.includes(`"pid":${id},`) && line.includes('left too much memory in use'));
    for (let looks = 0; looks < 10 && !said(); looks += 1) await pause(50);
    return said();
  }

  #judge(sql: string, answer: Answer): void {
    const outcome = outcomeOf(answer);
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    if (outcome === '408 query_timeout') this.#late = sql;
    const problem = problemOf(answer);
    if (problem === null) return;
    this.#note(sql, problem);
    this.#client = null;
  }

  #note(sql: string, problem: string): void {
    const finding = `${problem.slice(0, 300)}\n  ${sql}${this.#late === null ? '' : `\n  The last that ran out of time: ${this.#late}`}`;
    this.findings.push(finding);
    process.stderr.write(`FOUND ${finding}\n`);
  }

  async #findProcess(): Promise<number> {
    await sleepUntil(
      async () => outcomeOf(await this.#client!.post('/query', { sql: 'SELECT 1' })) === '200',
      'a process answers SQL',
    );
    return (await findQueryProcess(this.#options.service, 'sql'))!;
  }
}

/** The most memory that a process has taken, in bytes; null if it has ended. */
async function peakOf(id: number): Promise<number | null> {
  const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
  const found = /VmHWM:\s*(\d+) kB/.exec(status);
  return found === null ? null : Number(found[1]) * 1024;
}

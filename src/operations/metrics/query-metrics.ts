/** Metrics of the query processes. Each scrape asks the processes that run. */
import { Gauge, type Registry } from 'prom-client';
import { boundsInForce } from '../../api/query/engine-process.ts';
import type { EngineUse } from '../../api/query/protocol.ts';
import type { ProcessState } from '../../api/query/query-engine.ts';
import { withScrapeTimeout } from './scrape-timeout.ts';

/** The part of the query engine that metrics need. */
interface AskedEngine {
  states(): Promise<readonly ProcessState[]>;
}

export function addQueryMetrics(registry: Registry, engine: AskedEngine): void {
  let asked: Promise<readonly ProcessState[] | null> | null = null;
  // All metrics of a scrape share one answer.
  const ask = (): Promise<readonly ProcessState[] | null> => {
    asked ??= withScrapeTimeout(() => engine.states()).finally(() => {
      asked = null;
    });
    return asked;
  };
  const gauge = (name: string, help: string, read: (state: ProcessState) => number): void => {
    const value: Gauge = new Gauge({
      name: `tablog_query_${name}`,
      help,
      labelNames: ['engine'],
      registers: [registry],
      collect: async () => {
        for (const state of (await ask()) ?? []) value.set({ engine: state.kind }, read(state));
      },
    });
  };
  const used =
    (member: keyof EngineUse) =>
    ({ use }: ProcessState): number =>
      use?.[member] ?? 0;
  gauge('copies', 'Copies of tables in the query process.', used('copies'));
  gauge('copies_bytes', 'Bytes of these copies and of files being exported.', used('bytes'));
  gauge('fills', 'Copies that are being filled.', used('fills'));
  gauge('fills_waiting', 'Copies that wait to be filled.', used('fillsWaiting'));
  gauge('engine_resident_bytes', 'Resident memory of the query process; 0 while there is none.', used('residentBytes'));
  gauge(
    'engine_resident_bytes_max',
    'Limit of the resident memory of the query process.',
    ({ residentBytesMax }) => residentBytesMax,
  );
  gauge('engine_starts', 'How often the query process was started.', ({ starts }) => starts);
  gauge(
    'engine_failed_starts',
    'How often the query process could not be started.',
    ({ failedStarts }) => failedStarts,
  );
  gauge(
    'engine_crashes',
    'How often the query process ended in a way that a query may have caused.',
    ({ crashes }) => crashes,
  );
  const bounds = new Gauge({
    name: 'tablog_query_engine_memory_bounds',
    help: 'Mechanisms that limit the memory of the query processes on this system.',
    labelNames: ['bound'],
    registers: [registry],
  });
  for (const bound of boundsInForce) bounds.set({ bound }, 1);
}

/** Metrics of the query engine, which is asked at each scrape while it runs. */
import { Gauge, type Registry } from 'prom-client';
import type { EngineUse } from '../query/protocol.ts';
import { inTime } from './in-time.ts';

/** The query engine of this process, as far as metrics see it. */
export interface AskedEngine {
  /** How often its process was started. */
  readonly starts: number;
  /** Null while there is no process. */
  use(): Promise<EngineUse | null>;
}

export function addQueryMetrics(registry: Registry, engine: AskedEngine): void {
  let asked: Promise<EngineUse | null> | null = null;
  // All metrics of a scrape are of one answer.
  const ask = (): Promise<EngineUse | null> => {
    asked ??= inTime(() => engine.use()).finally(() => {
      asked = null;
    });
    return asked;
  };
  const gauge = (name: string, help: string, member: keyof EngineUse): void => {
    const value: Gauge = new Gauge({
      name: `tablog_query_${name}`, help, registers: [registry],
      collect: async () => value.set((await ask())?.[member] ?? 0),
    });
  };
  gauge('copies', 'Copies of tables that the query engine holds.', 'copies');
  gauge('copies_bytes', 'Bytes of these copies, and of files that are exported.', 'bytes');
  gauge('fills', 'Copies that are being filled.', 'fills');
  gauge('fills_waiting', 'Copies that wait to be filled.', 'fillsWaiting');
  gauge('engine_resident_bytes', 'Resident memory of the process of the query engine; 0 while there is none.', 'residentBytes');
  const starts: Gauge = new Gauge({
    name: 'tablog_query_engine_starts', help: 'How often the process of the query engine was started.', registers: [registry],
    collect: () => starts.set(engine.starts),
  });
}

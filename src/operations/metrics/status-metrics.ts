/** Metrics of the service's state, read at each scrape. */
import { Gauge, type Registry } from 'prom-client';
import { haltCauses, type EventLog, type LogStatus } from '../../log/event-log.ts';
import { withScrapeTimeout } from './scrape-timeout.ts';

export interface Asked {
  readonly log: Pick<EventLog, 'status'>;
  /** Resolves when Postgres has answered; rejects when it cannot be reached. */
  readonly askPostgres: () => Promise<unknown>;
}

/** Adds the metrics. Without Kafka, the metrics of Kafka are left out, because a 0 would be misleading. */
export function addStatusMetrics(registry: Registry, { log, askPostgres }: Asked): void {
  const registers = [registry];
  const reachable: Gauge = new Gauge({
    name: 'tablog_postgres_reachable',
    help: 'Whether Postgres answers: 1 or 0.',
    registers,
    collect: async () =>
      reachable.set(Number((await withScrapeTimeout(() => askPostgres().then(() => true))) ?? false)),
  });
  const addGauge = (name: string, help: string, read: (status: LogStatus) => number): void => {
    const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(read(log.status())) });
  };
  const addGauges = (name: string, help: string, read: (status: LogStatus) => readonly (number | boolean)[]): void => {
    const gauge: Gauge<'partition'> = new Gauge({
      name,
      help,
      labelNames: ['partition'],
      registers,
      collect: () => read(log.status()).forEach((value, partition) => gauge.set({ partition }, Number(value))),
    });
  };
  addGauge('tablog_log_queue_events', 'Events that wait for their outcome.', ({ queuedEvents }) => queuedEvents);
  addGauge('tablog_log_queue_bytes', 'Bytes of events that wait to be acknowledged.', ({ queuedBytes }) => queuedBytes);
  addGauges(
    'tablog_log_oldest_append_seconds',
    'For how long the oldest event of a partition has waited for its outcome; 0 if none waits.',
    ({ oldestAppendMs }) => oldestAppendMs.map((ms) => ms / 1000),
  );
  addGauge(
    'tablog_quarantined_teams',
    'Teams with an event that cannot be projected. `tablog quarantine list` names them; docs/operate/operations.md says what to do.',
    ({ quarantinedTeams }) => quarantinedTeams,
  );
  const halted: Gauge<'partition' | 'cause'> = new Gauge({
    name: 'tablog_partition_halted',
    labelNames: ['partition', 'cause'],
    registers,
    help: '1 if a partition takes no events because its log lost records or cannot be projected. `tablog log status` says more; docs/operate/operations.md says what to do.',
    collect: () =>
      log.status().halts.forEach((halt, partition) => {
        for (const cause of haltCauses) halted.set({ partition, cause }, Number(halt === cause));
      }),
  });
  if (log.status().kafka === null) return;
  addGauge('tablog_kafka_reachable', 'Whether the brokers answer: 1 or 0.', ({ kafka }) => Number(kafka!.isReachable));
  addGauges(
    'tablog_partition_owned',
    'Whether this process projects a partition: 1 or 0.',
    ({ kafka }) => kafka!.owned,
  );
  addGauges(
    'tablog_projection_lag_events',
    'Events of a partition that no process has projected yet.',
    ({ kafka }) => kafka!.lag,
  );
}

import type { LogReader } from '../../src/log/event-log.ts';
import { endsOfLog, Rebuild } from '../../src/operations/replay/rebuild.ts';

/** Builds a read model from the whole log, in its own Postgres schema. */
export async function rebuild({
  url,
  schema,
  log,
}: {
  readonly url: string;
  readonly schema: string;
  readonly log: LogReader;
}): Promise<void> {
  const rebuilding = await Rebuild.begin({
    url,
    schema,
    log,
    batchEvents: 500,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
  try {
    await rebuilding.bringTo(await endsOfLog(log));
  } finally {
    await rebuilding.close();
  }
}

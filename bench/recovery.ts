/**
 * `npm run bench:recovery`: how long writes wait when a projector ends, and how fast the read model is rebuilt. See
 * README.md.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { rowsPerRequest } from './data.ts';
import { createDatabase, describeEnvironment, renderFacts, startKafka, startPostgres } from './environment.ts';
import { readLogKind, readWholeNumber, type LogKind } from './options.ts';
import { renderReplay, renderTakeovers } from './recovery-report.ts';
import { measureReplay, type Side } from './replay.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, type ServiceSettings } from './service-processes.ts';
import { measureTakeovers } from './takeover.ts';

interface Options {
  log: LogKind;
  /** How often a projector is ended in each way; 0 skips this part. It is also skipped with the log in Postgres. */
  times: number;
  /** How many rows are loaded for replay; 0 skips it. */
  rows: number;
  jsonFile: string | undefined;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      log: { type: 'string', default: 'kafka' },
      times: { type: 'string', default: '5' },
      rows: { type: 'string', default: '1000000' },
      json: { type: 'string' },
    },
  });
  const log = readLogKind(values.log);
  const times = readWholeNumber('--times', values.times, 0);
  const rows = readWholeNumber('--rows', values.rows, 0);
  if (rows % rowsPerRequest !== 0) throw new Error(`--rows takes a multiple of ${rowsPerRequest}`);
  return { log, times, rows, jsonFile: values.json };
}

async function run(
  { log, times, rows, jsonFile }: Options,
  { folder, resources, signal }: Surroundings,
): Promise<void> {
  const postgresUrl = await startPostgres(join(folder, 'postgres'), resources);
  signal.throwIfAborted();
  const databases = {
    takeover: await createDatabase(postgresUrl, 'takeover', resources),
    rows: await createDatabase(postgresUrl, 'rows', resources),
    patches: await createDatabase(postgresUrl, 'patches', resources),
  };
  const environment = await describeEnvironment(databases);
  const kafka = log === 'kafka' ? await startKafka(resources) : undefined;
  environment.push(kafka?.fact ?? { what: 'log', value: 'in Postgres' });
  console.log(renderFacts(environment));
  const settingsOf = (part: keyof typeof databases): ServiceSettings => ({
    environment: serviceEnvironment(databases[part], kafka?.brokers, part),
    folder: join(folder, part),
  });

  const takeovers =
    kafka && times > 0 ? await measureTakeovers({ times, settings: settingsOf('takeover') }, signal) : [];
  if (takeovers.length > 0) console.log(`\n${renderTakeovers(takeovers)}`);
  const side = (part: 'rows' | 'patches'): Side => ({ settings: settingsOf(part), databaseUrl: databases[part] });
  const replay =
    rows > 0 ? await measureReplay({ rows, ofRows: side('rows'), ofPatches: side('patches') }, signal) : undefined;
  if (replay) console.log(`\n${renderReplay(replay)}`);
  if (jsonFile === undefined) return;
  await writeFile(jsonFile, `${JSON.stringify({ environment, takeovers, replay }, null, 2)}\n`);
}

await runToEnd(async (surroundings) => run(readOptions(), surroundings));

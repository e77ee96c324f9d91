/**
 * `npm run bench:recovery`: how long writes wait when a projector ends, and how fast the read model is rebuilt. See
 * README.md.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rowsPerRequest } from './data.ts';
import { startServers } from './environment.ts';
import { oneOf, path, readOptions, wholeNumber, type OptionsOf } from './options.ts';
import { renderReplay, renderTakeovers } from './recovery-report.ts';
import { measureReplay, type Side } from './replay.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, type ServiceSettings } from './service-processes.ts';
import { measureTakeovers } from './takeover.ts';

const options = {
  log: oneOf('kafka', 'postgres'),
  /** How often a projector is ended in each way; 0 skips this part. It is also skipped with the log in Postgres. */
  times: wholeNumber(5, { min: 0 }),
  /** How many rows are loaded for replay; 0 skips it. */
  rows: wholeNumber(1_000_000, { min: 0, multipleOf: rowsPerRequest }),
  json: path,
};

type Options = OptionsOf<typeof options>;

async function run({ log, times, rows, json: jsonFile }: Options, surroundings: Surroundings): Promise<void> {
  const { folder, signal } = surroundings;
  const { databases, brokers, facts } = await startServers(surroundings, ['takeover', 'rows', 'patches'], log);
  const settingsOf = (part: keyof typeof databases): ServiceSettings => ({
    environment: serviceEnvironment(databases[part], brokers, part),
    folder: join(folder, part),
  });

  const takeovers =
    brokers !== undefined && times > 0
      ? await measureTakeovers({ times, settings: settingsOf('takeover') }, signal)
      : [];
  if (takeovers.length > 0) console.log(`\n${renderTakeovers(takeovers)}`);
  const side = (part: 'rows' | 'patches'): Side => ({ settings: settingsOf(part), databaseUrl: databases[part] });
  const replay =
    rows > 0 ? await measureReplay({ rows, ofRows: side('rows'), ofPatches: side('patches') }, signal) : undefined;
  if (replay) console.log(`\n${renderReplay(replay)}`);
  if (jsonFile === undefined) return;
  await writeFile(jsonFile, `${JSON.stringify({ environment: facts, takeovers, replay }, null, 2)}\n`);
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));

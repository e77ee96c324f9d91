/**
 * `tablog quarantine`: lists and releases teams with an event that cannot be projected (docs/operate/operations.md).
 */
import type { Command } from 'commander';
import type { ShownQuarantine } from '../administration/quarantines.ts';
import { auditedCommand } from './audited.ts';
import { writeOut, writeTable, writeWords } from './console.ts';
import { interruption } from './interruption.ts';
import { ProgressLine } from './progress-line.ts';
import { UserError } from './user-error.ts';
import { withRecordLog } from './with-record-log.ts';

interface Flags {
  readonly json?: boolean;
}

interface ReleaseFlags extends Flags {
  readonly all?: boolean;
}

export function addQuarantineCommands(program: Command): void {
  const quarantine = program
    .command('quarantine')
    .description('list and release teams with an event that cannot be projected');
  quarantine
    .command('list')
    .description('list the teams in quarantine, with the failed event and the reason')
    .option('--json', 'write the result as JSON')
    .action(list);
  quarantine
    .command('release')
    .description(
      'after the cause is removed: project the held events of a team and end its quarantine; exits with 1 if ' +
        'an event fails again',
    )
    .argument('[team]', 'its ID or name')
    .option('--all', 'release all teams in quarantine')
    .option('--json', 'write the result as JSON')
    .action(release);
}

/** Imported on demand, because it loads all models: other commands start faster. */
const quarantines = (): Promise<typeof import('../administration/quarantines.ts')> =>
  import('../administration/quarantines.ts');

async function list(flags: Flags): Promise<void> {
  const { readShownQuarantines } = await quarantines();
  const found = await withRecordLog((_log, { database, queries: { teams } }) => readShownQuarantines(database, teams));
  if (flags.json) {
    return writeOut(
      JSON.stringify(
        found.map(({ teamId, name, partition, failedOffset, since, reason, eventsSince }) => ({
          teamId,
          name,
          partition,
          offset: String(failedOffset),
          since: new Date(since).toISOString(),
          reason,
          eventsSince: String(eventsSince),
        })),
      ),
    );
  }
  if (found.length === 0) return writeOut('No team is in quarantine.');
  await writeTable(
    ['TEAM', 'NAME', 'PARTITION', 'OFFSET', 'SINCE', 'EVENTS SINCE', 'REASON'],
    found.map((one) => [
      one.teamId,
      one.name ?? '',
      String(one.partition),
      String(one.failedOffset),
      new Date(one.since).toISOString(),
      String(one.eventsSince),
      one.reason.replaceAll(/\s+/g, ' '),
    ]),
  );
}

async function release(idOrName: string | undefined, flags: ReleaseFlags): Promise<void> {
  if ((idOrName === undefined) !== (flags.all === true))
    throw new UserError('Give either a team, by its ID or name, or --all.');
  const signal = interruption();
  const { readShownQuarantines, ReleaseFailed, releaseQuarantine } = await quarantines();
  const results = await withRecordLog(async (log, { database, queries: { teams } }) => {
    const results: { readonly teamId: string; readonly released: boolean; readonly error: string | null }[] = [];
    for (const quarantine of chosen(await readShownQuarantines(database, teams), idOrName)) {
      const { teamId } = quarantine;
      const progress = new ProgressLine('events', writeWords);
      try {
        await auditedCommand('quarantine.release', { teamId }, () =>
          releaseQuarantine(quarantine, log, database, {
            onProgress: (done, of) => progress.update(done, of),
            signal,
          }),
        );
        results.push({ teamId, released: true, error: null });
        writeWords(`The team ${teamId} is released. Running processes notice within a second.`);
      } catch (error) {
        // Continue with the other teams.
        if (!(error instanceof ReleaseFailed)) throw error;
        results.push({ teamId, released: false, error: error.message });
        writeWords(`${error.message}.`);
      }
    }
    return results;
  });
  if (results.some(({ released }) => !released)) process.exitCode = 1;
  if (flags.json) writeOut(JSON.stringify(results));
  else if (results.length === 0) writeWords('No team is in quarantine.');
}

/** The quarantines to release: all, or the one of this team. Throws UserError if the team is unknown or ambiguous. */
function chosen(all: readonly ShownQuarantine[], idOrName: string | undefined): readonly ShownQuarantine[] {
  if (idOrName === undefined) return all;
  const found = all.filter(({ teamId, name }) => teamId === idOrName.toLowerCase() || name === idOrName);
  if (found.length === 1) return found;
  if (found.length === 0)
    throw new UserError(`No team ${JSON.stringify(idOrName)} is in quarantine; see \`tablog quarantine list\`.`);
  throw new UserError(
    `${found.length} teams in quarantine are named ${JSON.stringify(idOrName)}; give the ID of one: ${found.map(({ teamId }) => teamId).join(', ')}`,
  );
}

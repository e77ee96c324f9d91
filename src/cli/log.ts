/** `tablog log`: shows the state of the log, resumes it after a loss, and moves it (docs/operate/operations.md). */
import type { Command } from 'commander';
import { readConfig } from '../app/config.ts';
import {
  partitionAsJson,
  readPartitionStates,
  resumeAfterLoss,
  type PartitionState,
} from '../administration/partitions.ts';
import { auditedCommand } from './audited.ts';
import { addLogMove } from './log-move.ts';
import { writeOut, writeTable, writeWords } from './console.ts';
import { withRecordLog } from './with-record-log.ts';

interface Flags {
  readonly json?: boolean;
}

export function addLogCommands(program: Command): void {
  const log = program.command('log').description('show the state of the log, resume it after a loss, and move it');
  const command = (name: string, description: string): Command => {
    return log.command(name).description(description).option('--json', 'write the result as JSON');
  };
  command(
    'status',
    'show how far each partition is projected, and why a partition has halted; exits with 1 if one has',
  ).action(status);
  command(
    'resume',
    'continue after a part of the log was lost or may have been lost: new versions are above all that were given out, and ' +
      'halted partitions are projected again if their log matches the read model',
  ).action(resume);
  addLogMove(log);
}

async function status(flags: Flags): Promise<void> {
  const states = await withRecordLog((log, { database }) => readPartitionStates(log, database));
  // With the log in Postgres, an event is projected when it is appended.
  const isInKafka = readConfig().KAFKA_BROKERS !== undefined;
  const isBehind = ({ behind, halted }: PartitionState): boolean => !isInKafka && halted === null && behind > 0n;
  if (states.some((state) => state.halted !== null || isBehind(state))) process.exitCode = 1;
  if (flags.json) return writeOut(JSON.stringify(states.map(partitionAsJson)));
  await writeTable(
    ['PARTITION', 'LOG ENDS AT', 'PROJECTED TO', 'VERSION'],
    states.map(({ partition, next, base, bounds }) => {
      return [partition, bounds.end, next, base + next].map(String);
    }),
  );
  for (const state of states) {
    const { partition, halted, contradicted, held } = state;
    if (held.since.size > 0)
      writeOut(
        `Partition ${partition} holds the events of ${held.since.size === 1 ? 'a team' : `${held.since.size} teams`} in quarantine: see \`tablog quarantine list\`.`,
      );
    if (isBehind(state))
      writeOut(
        `Partition ${partition} is not projected to the end of its log: start a process, or, if one runs, look for a line at level \`fatal\` in its log.`,
      );
    if (halted === null) continue;
    writeOut(`Partition ${partition} takes no writes: ${halted.replace(/^partition \d+(?:: | (?=has halted))/, '')}.`);
    if (!contradicted) writeOut(`  Restart a ${isInKafka ? 'projector' : 'process'} to try again.`);
  }
}

async function resume(flags: Flags): Promise<void> {
  const versions = await auditedCommand('log.resume', {}, () =>
    withRecordLog((log, { database }) => resumeAfterLoss(log, database)),
  );
  if (flags.json)
    writeOut(JSON.stringify(versions.map((version, partition) => ({ partition, versionsFrom: String(version) }))));
  else
    writeWords(
      `The log was resumed: new versions of each partition are above ${versions.reduce((a, b) => (a < b ? a : b))}. Running processes continue by themselves.`,
    );
}

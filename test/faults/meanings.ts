/**
 * A checker for histories in which Postgres lost acknowledged writes. These may be gone, but no issued version and no
 * row ID means something else afterwards (ARCHITECTURE.md, invariant 6). Only one write writes each value, so the value
 * identifies the write.
 */
import type { Client } from '../support/client.ts';
import type { Call } from '../support/history.ts';
import type { Creation, Recorder } from './recorded-table.ts';

/** A row of a table, as it reads in the end. */
interface FinalRow {
  readonly row: string;
  readonly value: string;
}

/** All rows of all tables of a team whose rows have a `value`. */
export async function readAllRows(client: Client): Promise<FinalRow[]> {
  const { data } = (await client.get('/tables')).json as { data: { id: string }[] };
  const tables = await Promise.all(data.map(({ id }) => client.rows(id)));
  return tables.flat().map(({ $rowID, value }) => ({ row: $rowID as string, value: value as string }));
}

/** The second meanings of versions and row IDs, one sentence each; empty if each means one thing. */
export function findSecondMeanings(
  { calls, creations }: Pick<Recorder, 'calls' | 'creations'>,
  final: readonly FinalRow[],
): string[] {
  const { problems, writers, rows } = collectRows(calls, creations);
  const versions = new Map<bigint, Call | Creation>();
  const mean = (version: bigint, writer: Call | Creation): void => {
    const known = versions.get(version);
    if (known === undefined) versions.set(version, writer);
    else if (known !== writer) problems.push(`version ${version} is that of ${nameOf(known)} and of ${nameOf(writer)}`);
  };
  const show = (row: string, value: string): Call | Creation | undefined => {
    const writer = writers.get(value);
    const written = rows.get(value);
    if (writer === undefined) problems.push(`row ${row} is ${value}, which nobody wrote`);
    else if (written !== undefined && written !== row)
      problems.push(`row ${row} is ${value}, which was written to row ${written}`);
    return writer;
  };

  for (const creation of creations) if (creation.version !== null) mean(creation.version, creation);
  for (const call of calls) {
    const { operation } = call;
    if (operation.kind === 'read' && operation.seen !== null) {
      const writer = show(operation.row, operation.seen.value);
      if (writer !== undefined) mean(operation.seen.version, writer);
    } else if ('outcome' in operation && operation.outcome.status === 'applied') mean(operation.outcome.version, call);
  }
  for (const { row, value } of final) show(row, value);
  return [...problems, ...checkHeads(calls, versions)];
}

/** By value: its writer, and the row to which it was written, as far as known. No row ID may be issued twice. */
function collectRows(
  calls: readonly Call[],
  creations: readonly Creation[],
): {
  readonly problems: string[];
  readonly writers: ReadonlyMap<string, Call | Creation>;
  readonly rows: ReadonlyMap<string, string>;
} {
  const problems: string[] = [];
  const writers = new Map<string, Call | Creation>();
  const rows = new Map<string, string>();
  const givenOut = new Map<string, string>();
  const add = (writer: Call | Creation, values: readonly string[], ids: readonly string[]): void => {
    for (const [at, value] of values.entries()) {
      writers.set(value, writer);
      const row = ids[at];
      if (row === undefined) continue;
      rows.set(value, row);
      const other = givenOut.get(row);
      if (other !== undefined) problems.push(`the row ID ${row} was given to ${other} and to ${value}`);
      givenOut.set(row, value);
    }
  };
  for (const creation of creations) add(creation, creation.values, creation.rows);
  for (const call of calls) {
    const { operation } = call;
    if (operation.kind === 'add') add(call, operation.values, operation.rows);
    if (operation.kind === 'batch') {
      for (const part of operation.parts) {
        if (part.kind === 'add') add(call, [part.value], part.row === null ? [] : [part.row]);
        if (part.kind !== 'patch') continue;
        writers.set(part.value, call);
        rows.set(part.value, part.row);
      }
    }
    if (operation.kind !== 'patch') continue;
    writers.set(operation.value, call);
    rows.set(operation.value, operation.row);
  }
  return { problems, writers, rows };
}

/** Checks that no version of a table was shown before the write with that version began. */
function checkHeads(calls: readonly Call[], versions: ReadonlyMap<bigint, Call | Creation>): string[] {
  return calls.flatMap(({ operation, returned }) => {
    if (operation.kind !== 'head') return [];
    const writer = versions.get(operation.version);
    const isLater = writer !== undefined && 'invoked' in writer && writer.invoked > returned;
    return isLater ? [`version ${operation.version} was shown before ${nameOf(writer)} began, which has it`] : [];
  });
}

function nameOf(writer: Call | Creation): string {
  return 'operation' in writer
    ? `${writer.client}'s ${writer.operation.kind} (call ${writer.invoked})`
    : `the table ${writer.name}`;
}

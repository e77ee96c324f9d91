/**
 * Versions and row IDs with two meanings in the calls of a history. There must be none, even if acknowledged writes
 * were lost.
 */
import type { Call } from '../support/history.ts';

/** One sentence for each ambiguity. */
export function findAmbiguities(calls: readonly Call[]): string[] {
  const problems: string[] = [];
  const meanings = new Map<string, string>();
  const means = (name: string, meaning: string, { client, invoked }: Call): void => {
    const known = meanings.get(name) ?? meaning;
    meanings.set(name, known);
    if (known !== meaning)
      problems.push(`${name} meant ${known}, and means ${meaning} in call ${invoked} of ${client}`);
  };
  const batches = new Map<string, string>();
  for (const { operation, client, invoked } of calls) {
    if (operation.kind !== 'batch') continue;
    for (const part of operation.parts)
      if (part.kind !== 'delete') batches.set(part.value, `batch ${invoked} of ${client}`);
  }
  for (const call of calls) {
    const { operation } = call;
    if (operation.kind === 'read' && operation.seen !== null) {
      const { version, value } = operation.seen;
      means(`version ${version}`, batches.get(value) ?? `${value} in row ${operation.row}`, call);
    }
    if (!('outcome' in operation) || operation.outcome.status !== 'applied') continue;
    const version = `version ${operation.outcome.version}`;
    if (operation.kind === 'patch') means(version, `${operation.value} in row ${operation.row}`, call);
    else if (operation.kind === 'batch') {
      means(version, `batch ${call.invoked} of ${call.client}`, call);
      for (const part of operation.parts)
        if (part.kind === 'add') means(`row ${part.row}`, `what ${part.value} was added as`, call);
    }
    // The answer to the deletion of a row that is already gone has the version of another write.
    else if (operation.kind === 'add')
      operation.rows.forEach((row, at) => {
        means(version, `${operation.values[at]} in row ${row}`, call);
        means(`row ${row}`, `what ${operation.values[at]} was added as`, call);
      });
  }
  return problems;
}

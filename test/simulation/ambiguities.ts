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
  for (const call of calls) {
    const { operation } = call;
    if (operation.kind === 'read' && operation.seen !== null) {
      means(`version ${operation.seen.version}`, `${operation.seen.value} in row ${operation.row}`, call);
    }
    if (operation.kind === 'read' || operation.kind === 'head' || operation.outcome.status !== 'applied') continue;
    const version = `version ${operation.outcome.version}`;
    if (operation.kind === 'patch') means(version, `${operation.value} in row ${operation.row}`, call);
    // The answer to the deletion of a row that is already gone has the version of another write.
    else if (operation.kind === 'add')
      operation.rows.forEach((row, at) => {
        means(version, `${operation.values[at]} in row ${row}`, call);
        means(`row ${row}`, `what ${operation.values[at]} was added as`, call);
      });
  }
  return problems;
}

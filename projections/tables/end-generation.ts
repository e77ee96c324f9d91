import type { LogPlace } from '../../src/log/batch/decision.ts';
import type { Table, TableChange } from './table.ts';

/** Ends the present generation of a table, because an overwrite replaces it or because the table is deleted. */
export function endGeneration(
  { id, generation, schemaVersion, widened }: Table,
  { version, time }: LogPlace,
): TableChange {
  return {
    kind: 'generation',
    generation: { tableId: id, version: generation, ended: version, endedAt: time, schemaVersion, widened },
  };
}

import type { LogPlace } from '../engine/decision.ts';
import type { Table, TableChange } from './table.ts';

/** The end of a table's present generation: an overwrite has replaced it, or the table is deleted. */
export function endGeneration({ id, generation, schemaVersion, widened }: Table, { version, time }: LogPlace): TableChange {
  return {
    kind: 'generation', generation: { tableId: id, version: generation, ended: version, endedAt: time, schemaVersion, widened },
  };
}

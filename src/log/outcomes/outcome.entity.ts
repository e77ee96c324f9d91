import { defineEntity, p } from '@mikro-orm/core';
import { StoredTable } from '../../storage/database/stored-table.ts';

/** The outcome of each command (ARCHITECTURE.md, "outcome"). Its key detects repeated appends. */
export const OutcomeEntity = defineEntity({
  name: 'Outcome',
  tableName: 'outcomes',
  properties: {
    partition: p.smallint().primary(),
    commandId: p.uuid().primary(),
    logOffset: p.bigint(),
    /** The record's time, in milliseconds: an outcome is valid for seven days of log time. */
    time: p.bigint('number'),
    etag: p.bigint().nullable(),
    /** A refusal or a result, as JSON; null for an applied command with an empty result. */
    detail: p.text().nullable(),
    requestDigest: p.text().nullable(),
    /** The time of the outcome that this one replaced; null if there was none. Only jobs read it, never a decision. */
    replacedTime: p.bigint('number').nullable(),
  },
});

export const storedOutcomes = StoredTable.of(OutcomeEntity, { without: ['replacedTime'] });

import { defineEntity, p } from '@mikro-orm/core';
import { StoredTable } from '../../../src/database/stored-table.ts';

/** What became of each command (ARCHITECTURE.md, "outcome"). Its key makes a repeated append harmless. */
export const OutcomeEntity = defineEntity({
  name: 'Outcome',
  tableName: 'outcomes',
  properties: {
    partition: p.smallint().primary(),
    commandId: p.uuid().primary(),
    logOffset: p.bigint(),
    /** The record's time, in milliseconds: an outcome counts for seven days of log time. */
    time: p.bigint('number'),
    etag: p.bigint().nullable(),
    /** A refusal or a result, as JSON; null for an applied command whose answer holds nothing. */
    detail: p.text().nullable(),
    requestDigest: p.text().nullable(),
    /** The time of the outcome that it took the place of; null where there was none. Only jobs ask for it, no decision does. */
    replacedTime: p.bigint('number').nullable(),
  },
});

export const storedOutcomes = StoredTable.of(OutcomeEntity, { without: ['replacedTime'] });

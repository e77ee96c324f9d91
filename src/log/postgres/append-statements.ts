/** The statements that append to the log in Postgres. Run them in one transaction, or combine them into one. */
import { bind, type BoundStatement } from '../../storage/database/combine.ts';
import type { LogRecord } from '../event-log.ts';
import { insertRecord, insertRecords, moveHead } from './statements.ts';

/**
 * Advances the head past the records, if it points at the first of them, and inserts them. All get the time of the
 * first. If the head is at another offset, the first statement returns no row.
 */
export function appendStatements(partition: number, records: readonly LogRecord[]): [BoundStatement, BoundStatement] {
  const { offset, time } = records[0]!;
  const moving = bind(moveHead, [partition, offset, offset + BigInt(records.length), time]);
  return [moving, insertStatement(partition, records)];
}

function insertStatement(partition: number, records: readonly LogRecord[]): BoundStatement {
  const { offset, time, bytes } = records[0]!;
  if (records.length === 1) return bind(insertRecord, [partition, offset, time, bytes]);
  const lengths = records.map((record) => record.bytes.length);
  let first = 1;
  const firsts = lengths.map((length) => {
    const at = first;
    first += length;
    return at;
  });
  const all = Buffer.concat(records.map((record) => record.bytes));
  return bind(insertRecords, [partition, offset, time, all, firsts, lengths]);
}

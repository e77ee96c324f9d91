/** The statements of the log in Postgres. */
import type { Statement } from '../../storage/database/pipelined-client.ts';
import { logSchema } from './log-tables.ts';
import { bind, type BoundStatement } from '../../storage/database/combine.ts';
import type { LogRecord } from '../event-log.ts';

/**
 * Advances the head past the records, if it points at the first of them and its time is not later than theirs.
 * Otherwise returns no row.
 */
export const moveHead: Statement = {
  name: 'move_head',
  text: `update ${logSchema}.heads set next = $3, time = $4
    where partition = $1 and next = $2 and time <= $4 returning next`,
};

/** Writes one record. */
const insertRecord: Statement = {
  name: 'insert_record',
  text: `insert into ${logSchema}.records (partition, log_offset, time, bytes) values ($1, $2, $3, $4)`,
};

/**
 * Inserts records. Their bytes are sent concatenated and are split here, because an array would be sent in hexadecimal.
 */
const insertRecords: Statement = {
  name: 'insert_records',
  text: `insert into ${logSchema}.records (partition, log_offset, time, bytes)
    select $1::int2, $2::int8 + place - 1, $3::int8, substring($4::bytea from first for length)
    from unnest($5::int4[], $6::int4[]) with ordinality as cuts(first, length, place)`,
};

/** Inserts copies of records, each with its own time. */
export const insertCopies: Statement = {
  name: 'insert_copies',
  text: `insert into ${logSchema}.records (partition, log_offset, time, bytes)
    select $1::int2, $2::int8 + place - 1, time, substring($3::bytea from first for length)
    from unnest($4::int8[], $5::int4[], $6::int4[]) with ordinality as cuts(time, first, length, place)`,
};

/**
 * At most $4 records. Ends with the record that exceeds $5 bytes in total. The length of a record is known without
 * reading it.
 */
export const selectRecords: Statement<{ log_offset: bigint | string; time: bigint | string; bytes: Buffer }> = {
  name: 'select_records',
  text: `select log_offset, time, bytes from (
      select log_offset, time, bytes, sum(octet_length(bytes)) over (order by log_offset rows between unbounded
      preceding and 1 preceding) as before
      from ${logSchema}.records where partition = $1 and log_offset >= $2 and log_offset < $3 order by log_offset
      limit $4
    ) counted where coalesce(before, 0) <= $5`,
};

/** The SHA-256 of the records at these offsets, for those that exist. */
export const selectHashes: Statement<{ offset: bigint; hash: Buffer }> = {
  name: 'select_hashes',
  text: `select log_offset as "offset", sha256(bytes) as hash from ${logSchema}.records where partition = $1 and log_offset = any ($2::int8[])`,
};

export const selectEnd: Statement = {
  name: 'select_end',
  text: `select next from ${logSchema}.heads where partition = $1`,
};

/**
 * Advances the head past the records, if it points at the first of them, and inserts them. All get the time of the
 * first. If the head is at another offset, the first statement returns no row. Run both in one transaction, or combine
 * them into one.
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

/**
 * Locks the head of a partition, so that no other process can move it. Returns its position, the server's time, and the
 * progress and layout of the read model.
 */
export const lockHead: Statement<{
  next: bigint;
  time: bigint;
  serverTime: bigint;
  projected: bigint;
  layout: bigint;
}> = {
  name: 'lock_head',
  text: `select heads.next, heads.time, (extract(epoch
  from clock_timestamp()) * 1000)::int8 as "serverTime", progress.next as projected, progress.layout
    from ${logSchema}.heads join progress using (partition) where heads.partition = $1 for update of heads`,
};

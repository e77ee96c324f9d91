import type pg from 'pg';
import { logSchema } from './log-tables.ts';

/** Appends one record to the log in Postgres, in the transaction of the client. Another process may project it. */
export async function appendRecord(
  client: Pick<pg.ClientBase, 'query'>,
  partition: number,
  bytes: Uint8Array,
): Promise<void> {
  await client.query(
    `with moved as (
      update ${logSchema}.heads set next = next + 1, time = greatest(time, (extract(epoch
      from clock_timestamp()) * 1000)::int8)
      where partition = $1 returning next - 1 as log_offset, time
    ) insert into ${logSchema}.records (partition, log_offset, time, bytes) select $1, log_offset, time, $2 from moved`,
    [partition, bytes],
  );
}

import type { Statement } from '../../../src/database/pipelined-client.ts';
import { logSchema } from '../../../src/log/postgres/log-tables.ts';

/** Waits for the head, then tells where it is and what time it is here, and how far the read model is. */
export const lockHead: Statement<{ next: bigint; time: bigint; serverTime: bigint; projected: bigint }> = {
  name: 'lock_head',
  text: `select heads.next, heads.time, (extract(epoch from clock_timestamp()) * 1000)::int8 as "serverTime", progress.next as projected
    from ${logSchema}.heads join progress using (partition) where heads.partition = $1 for update of heads`,
};

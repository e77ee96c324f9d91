import type { Statement } from '../../storage/database/pipelined-client.ts';
import { logSchema } from './log-tables.ts';

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

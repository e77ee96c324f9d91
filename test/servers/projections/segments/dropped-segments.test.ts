/** Garbage collection drops segments that nothing names, without holding up partitions. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { removeGarbage } from '../../../../src/log/garbage.ts';
import { models } from '../../../../projections/models.ts';
import { fillSegment } from '../../../../projections/segments/fill-segment.ts';
import { inPipelinedTransaction } from '../../../../src/storage/database/transaction.ts';
import { useReadModel } from '../../../support/read-model.ts';

const { database } = useReadModel(3, 'file');
const hours = 2 * 3_600_000;

/** Writes a segment ahead of its event. */
async function writeSegment(key: bigint): Promise<void> {
  const content = { key, id: randomUUID(), teamId: randomUUID(), rows: 1, body: Buffer.from('{}'), ids: null };
  await database().writers.with((tx) => inPipelinedTransaction(tx, () => fillSegment(tx, content)));
}

async function isDropped(key: bigint): Promise<boolean> {
  const { rows } = await database().pool.query('select dropped from segments where key = $1', [key]);
  return rows[0].dropped;
}

test('it waits for one partition at a time, and spares what a batch names meanwhile', async () => {
  const { pool } = database();
  await writeSegment(1n);
  await writeSegment(2n);
  // A batch that was loaded before: it holds its partition, and names the first segment.
  const batch = await pool.connect();
  let collecting: Promise<boolean> | undefined;
  try {
    await batch.query('begin');
    await batch.query('update progress set epoch = epoch + 1 where partition = 1');
    await batch.query(
      `insert into body_blocks (body_id, number, team_id, segment, profile, time) values ($1, 0, $1, 1, '[0,0,0,[]]', 0)`,
      [randomUUID()],
    );
    collecting = removeGarbage(models, database(), hours);
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock'
    and query like 'update progress set layout%'
      and datname = current_database()`;
    while ((await pool.query(waiting)).rowCount === 0) await sleep(20);
    // Other partitions are free.
    for (const partition of [0, 2])
      await pool.query('select from progress where partition = $1 for update nowait', [partition]);
    await batch.query('commit');
  } finally {
    // Ends the transaction if the test has failed.
    batch.release(true);
    await collecting;
  }
  expect([await isDropped(1n), await isDropped(2n)]).toEqual([false, true]);
  const { rows } = await pool.query('select layout::int from progress order by partition');
  expect(rows.map(({ layout }) => layout)).toEqual([1, 1, 1]);
});

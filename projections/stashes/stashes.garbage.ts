/**
 * Garbage collection of stashes: replaced chunks, chunks of ended stashes, and ended stashes that need no longer be
 * remembered.
 */
import { removeRows, thingsAtOnce } from '../../src/log/garbage.ts';
import type { Garbage, RemoveGarbage } from '../../src/log/model.ts';
import { oldestOfPartitions } from '../../src/log/quarantine/held-in-sql.ts';
import { endedStashLife } from './live-stash.ts';

/** Removes replaced chunks, but keeps the row IDs of their rows while extents retain them. */
const dropReplacedChunks: RemoveGarbage = (database) => removeRows(database, dropChunkBlocks('stash is null'));

function dropChunkBlocks(condition: string): string {
  return `with old as (
      delete from chunk_blocks where (chunk, number) in (
        select chunk, number from chunk_blocks where ${condition} limit ${thingsAtOnce})
      returning segment
    ), idle as (
      update segments set idle_since = now() from old where segments.key = old.segment and not segments.emptied
    ), ids as (
      delete from retained_ids using old where retained_ids.segment = old.segment
        and not exists (select from extents where extents.segment = old.segment and extents.retained is not null)
    ) select from old`;
}

/** Removes the chunks of ended stashes. */
const clearStashes: RemoveGarbage = async (database) => {
  const {
    rows: [ended],
  } = await database.pool.query<{ key: string }>(
    'select key from stashes where ended_at is not null and not cleared limit 1',
  );
  if (!ended) return 0;
  const dropped = await removeRows(database, dropChunkBlocks('stash = $1'), [ended.key]);
  return dropped > 0 ? dropped : removeRows(database, 'update stashes set cleared = true where key = $1', [ended.key]);
};

/** Removes stashes whose end need no longer be remembered. */
const forgetStashes: RemoveGarbage = (database, later) =>
  removeRows(
    database,
    `delete from stashes where key in (
    select old.* from ${oldestOfPartitions(`
      select key from stashes join teams on teams.id = stashes.team_id and teams.partition = progress.partition
      where cleared and ended_at < progress.time - $1 order by ended_at limit ${thingsAtOnce}`)}
    limit ${thingsAtOnce})`,
    [endedStashLife - later],
  );

export const stashGarbage: Garbage = {
  replaced_chunks: dropReplacedChunks,
  chunks_of_ended_stashes: clearStashes,
  ended_stashes: forgetStashes,
};

/** The queries of HTTP about stashes. */
import type { Database } from '../../src/storage/database/database.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import type { ChunkTarget } from './stash-bounds.ts';

interface TargetRow {
  readonly stashes: number;
  readonly stashesMax: number | null;
  /** Null, like all fields below, if there never was a stash of the name. */
  readonly chunks: number | null;
  readonly rows: number;
  readonly profiledColumns: number;
  readonly endedAt: number | null;
  readonly expiresAt: number;
  /** Null if the stash has no such chunk. */
  readonly rowsBefore: number | null;
  readonly columnsBefore: number;
}

/** One statement, so that the stash's counts and its chunk come from one snapshot. */
const selectTarget: Statement<TargetRow> = {
  name: 'read_chunk_target',
  text: `select teams.stashes::float8, teams.stashes_max::float8 as "stashesMax", last.chunks, last.rows,
      last.profiled_columns as "profiledColumns", last.ended_at::float8 as "endedAt",
      last.expires_at::float8 as "expiresAt",
      before.rows as "rowsBefore", before.profiled_columns as "columnsBefore"
    from teams
    left join lateral (
      select * from stashes where stashes.team_id = teams.id and stashes.stash_id = $2 order by created desc limit 1
    ) last on true
    left join lateral (
      select sum(blocks.rows)::int4 as rows, sum(blocks.profiled_columns)::int4 as profiled_columns
      from chunk_blocks blocks
      where blocks.stash = last.key and blocks.serial = $3
    ) before on true
    where teams.id = $1`,
};

export class StashQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The place of a team's chunk with this serial. Throws if there is no such team. */
  async chunkTarget(teamId: string, stashId: string, serial: string): Promise<ChunkTarget> {
    const {
      rows: [found],
    } = await this.#database.reader.query(selectTarget, [teamId, stashId, serial]);
    if (found === undefined) throw new Error(`the team ${teamId} is unknown`);
    const { stashes, stashesMax, chunks, rows, profiledColumns, endedAt, expiresAt, rowsBefore, columnsBefore } = found;
    return {
      team: { stashes, stashesMax },
      last: chunks === null ? null : { chunks, rows, profiledColumns, endedAt, expiresAt },
      before: rowsBefore === null ? null : { rows: rowsBefore, profiledColumns: columnsBefore },
    };
  }
}

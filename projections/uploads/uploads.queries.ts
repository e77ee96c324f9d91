/** What HTTP reads of uploads. */
import type { Database } from '../../src/database/database.ts';
import type { Statement } from '../../src/database/pipelined-client.ts';
import type { StoredFile } from '../../src/events/event.ts';
import { findClaims } from './file-references.store.ts';

/** An upload, as far as its team can do something with it. */
export interface UploadState {
  /** Null until it is completed. Also there where it was refused then. */
  readonly file: StoredFile | null;
  readonly contentType: string;
  /** The most bytes that it may have. */
  readonly sizeMax: number;
  /** Whether its file was given up, or never came in time. */
  readonly isRemoved: boolean;
  /** Whether its team is suspended. */
  readonly isSuspended: boolean;
}

/** A file that everybody may read. */
export interface PublicFile {
  readonly name: string;
  readonly fileName: string;
  readonly contentType: string;
  /** In bytes. */
  readonly size: number;
}

interface UploadRow extends Omit<UploadState, 'file'> {
  readonly teamId: string;
  readonly appId: string;
  readonly file: string | null;
  readonly size: number | null;
}

const selectUpload: Statement<UploadRow> = {
  name: 'read_upload',
  text: `select team_id as "teamId", app_id as "appId", file, size::float8, content_type as "contentType",
      size_max::float8 as "sizeMax", removed_at is not null as "isRemoved", suspended as "isSuspended"
    from uploads join teams on teams.id = uploads.team_id where uploads.id = $1`,
};

const selectFile: Statement<PublicFile> = {
  name: 'read_file',
  text: `select file as name, file_name as "fileName", content_type as "contentType", size::float8 from uploads where file = $1 and removed_at is null`,
};

/** An upload that is to be looked at by an event (`UploadChecked`). */
export interface UploadToCheck {
  readonly id: string;
  readonly teamId: string;
  /** The progress of its partition. */
  readonly next: string;
}

/** An upload that was given up, whose bytes may be there yet. */
export interface GivenUpUpload {
  readonly id: string;
  readonly file: string | null;
}

export interface PartitionProgress {
  readonly partition: number;
  readonly next: string;
  readonly logId: string | null;
}

export class UploadQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Null where there never was such an upload; of which team and app is left out where it comes from a signed URL. */
  async upload(uploadId: string, owner?: { readonly teamId: string; readonly appId: string }): Promise<UploadState | null> {
    const { rows: [row] } = await this.#database.reader.query(selectUpload, [uploadId]);
    if (row === undefined) return null;
    const { teamId, appId, file, size, ...upload } = row;
    if (owner !== undefined && (owner.teamId !== teamId || owner.appId !== appId)) return null;
    return { ...upload, file: file === null ? null : { name: file, size: size! } };
  }

  /** The file of this name, unless it was given up. */
  async file(name: string): Promise<PublicFile | null> {
    return (await this.#database.reader.query(selectFile, [name])).rows[0] ?? null;
  }

  /** Uploads whose time was over at this time of the log, some of each partition: one that takes no events holds up no other. */
  async due(time: number, atOnce: number): Promise<UploadToCheck[]> {
    const { rows } = await this.#database.pool.query<UploadToCheck>(
      `select due.id, due.team_id as "teamId", progress.next from progress cross join lateral (
          (select uploads.id, team_id from uploads join teams on teams.id = uploads.team_id
            where teams.partition = progress.partition and removed_at is null and file is null and expires_at < $1
            order by expires_at limit $2)
          union all
          (select uploads.id, team_id from uploads join teams on teams.id = uploads.team_id
            where teams.partition = progress.partition and removed_at is null and unclaimed_since + unclaimed_life_ms < $1
            order by unclaimed_since + unclaimed_life_ms limit $2)
        ) due`,
      [time, atOnce],
    );
    return rows;
  }

  /** Of the next uploads behind `after`, in the order of their IDs, those whose file rows have begun or ceased to name. */
  async claimsMoved(after: string, atOnce: number): Promise<{ readonly moved: readonly UploadToCheck[]; readonly last: string | null }> {
    const { rows } = await this.#database.pool.query<UploadToCheck & { readonly claimed: boolean }>(
      `select uploads.id, uploads.team_id as "teamId", progress.next, unclaimed_since is null as claimed
        from uploads join teams on teams.id = uploads.team_id join progress on progress.partition = teams.partition
        where uploads.id > $1 and uploads.file is not null and uploads.removed_at is null order by uploads.id limit $2`,
      [after, atOnce],
    );
    const claims = await this.#database.scans.with((tx) => findClaims(tx, rows.map(({ id }) => id)));
    const now = new Map(claims.map(({ uploadId, isClaimed }) => [uploadId, isClaimed]));
    const moved = rows.filter(({ id, claimed }) => now.has(id) && now.get(id) !== claimed);
    return { moved, last: rows.length < atOnce ? null : rows.at(-1)!.id };
  }

  /** Uploads that were given up and not cleared away yet. */
  async givenUp(atOnce: number): Promise<GivenUpUpload[]> {
    const { rows } = await this.#database.pool.query<GivenUpUpload>(
      'select id, file from uploads where removed_at is not null and not cleared limit $1', [atOnce],
    );
    return rows;
  }

  /** Notes that the bytes of uploads are gone. Nothing that is decided depends on it. */
  async setCleared(ids: readonly string[]): Promise<void> {
    await this.#database.pool.query('update uploads set cleared = true where id = any($1)', [ids]);
  }

  /** Of these names those of files that everybody may read. */
  async knownFiles(names: readonly string[]): Promise<Set<string>> {
    const { rows } = await this.#database.pool.query<{ file: string }>(
      'select file from uploads where file = any($1) and removed_at is null', [names],
    );
    return new Set(rows.map(({ file }) => file));
  }

  /** Of these uploads those that bytes may yet come for. */
  async open(ids: readonly string[]): Promise<Set<string>> {
    const { rows } = await this.#database.pool.query<{ id: string }>(
      'select id from uploads where id = any($1) and file is null and removed_at is null', [ids],
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** How far each partition is projected, and of which log it is; null before it has begun. */
  async progress(): Promise<PartitionProgress[]> {
    const { rows } = await this.#database.pool.query<PartitionProgress>(
      'select partition, next, log_id as "logId" from progress order by partition',
    );
    return rows;
  }
}

/** The queries of HTTP about uploads. */
import type { Database } from '../../src/storage/database/database.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import type { StoredFile } from '../../src/language/events/upload-events.ts';
import { isNotHeld } from '../../src/log/quarantine/held-in-sql.ts';
import { findClaims } from './file-references.store.ts';

/** The state of an upload, as its team needs it. */
export interface UploadState {
  readonly teamId: string;
  /** Null until it is completed. Also set if the completion was refused. */
  readonly file: StoredFile | null;
  readonly contentType: string;
  /** The largest size of the file, in bytes. */
  readonly sizeMax: number;
  /** Whether the upload was given up: it was refused, deleted or expired, or no row named its file for too long. */
  readonly isRemoved: boolean;
  /** Whether its team is suspended. */
  readonly isSuspended: boolean;
}

/** A file with a public URL. */
export interface PublicFile {
  readonly teamId: string;
  readonly name: string;
  readonly fileName: string;
  readonly contentType: string;
  /** In bytes. */
  readonly size: number;
  /** Whether its team is suspended: then the file is not served. */
  readonly isSuspended: boolean;
}

interface UploadRow extends Omit<UploadState, 'file'> {
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
  text: `select team_id as "teamId", file as name, file_name as "fileName", content_type as "contentType", size::float8,
  suspended as "isSuspended"
    from uploads join teams on teams.id = uploads.team_id where file = $1 and removed_at is null`,
};

/** A place in a team's list: before the upload that the event of this version created with this ID. */
export interface UploadPosition {
  readonly created: bigint;
  readonly id: string;
}

/** An upload in a team's list. Times are log times, in milliseconds since 1970. */
export interface ListedUpload extends UploadPosition {
  readonly appId: string;
  readonly contentType: string;
  readonly fileName: string;
  readonly createdAt: number;
  /** From this time on it cannot be completed. */
  readonly expiresAt: number;
  /** The name and size (in bytes) of its file; null before the upload is completed. */
  readonly file: string | null;
  readonly size: number | null;
  readonly isRemoved: boolean;
}

/** Newest first, from the index `uploads_listed`, or with an app from `uploads_listed_of_apps`. */
const selectListed = (ofApp: boolean): Statement<ListedUpload> => ({
  name: ofApp ? 'read_uploads_of_app' : 'read_uploads',
  text: `select id, created, app_id as "appId", content_type as "contentType", file_name as "fileName",
  created_at::float8 as "createdAt",
      expires_at::float8 as "expiresAt", file, size::float8, removed_at is not null as "isRemoved"
    from uploads where team_id = $1 and (created, id) < ($2, $3) ${ofApp ? 'and app_id = $5' : ''} order by created desc, id desc limit $4`,
});
const selectListedOfTeam = selectListed(false);
const selectListedOfApp = selectListed(true);

/** After every upload. */
const afterAll: UploadPosition = { created: 2n ** 63n - 1n, id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

/** An upload that is due for an `UploadChecked` event. */
export interface UploadToCheck {
  readonly id: string;
  readonly teamId: string;
  /** The progress of its partition. */
  readonly next: string;
}

/** A given-up upload whose bytes may still be in the store. */
interface GivenUpUpload {
  readonly id: string;
  readonly file: string | null;
}

export interface ProjectedPartition {
  readonly partition: number;
  readonly next: string;
  /** The ID of its log; null before the first event. */
  readonly logId: string | null;
  /** Whether events of teams in quarantine are held. */
  readonly isHeld: boolean;
}

export class UploadQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Null if the owner has no such upload. Omit `owner` for an upload from a signed URL. */
  async upload(
    uploadId: string,
    owner?: { readonly teamId: string; readonly appId: string },
  ): Promise<UploadState | null> {
    const {
      rows: [row],
    } = await this.#database.reader.query(selectUpload, [uploadId]);
    if (row === undefined) return null;
    const { appId, file, size, ...upload } = row;
    if (owner !== undefined && (owner.teamId !== upload.teamId || owner.appId !== appId)) return null;
    return { ...upload, file: file === null ? null : { name: file, size: size! } };
  }

  /** A team's uploads, newest first: of all apps, or of one. `before`: where to continue; null: from the newest. */
  async list(
    teamId: string,
    appId: string | null,
    before: UploadPosition | null,
    limit: number,
  ): Promise<readonly ListedUpload[]> {
    const { created, id } = before ?? afterAll;
    const statement = appId === null ? selectListedOfTeam : selectListedOfApp;
    return (
      await this.#database.reader.query(statement, [teamId, created, id, limit, ...(appId === null ? [] : [appId])])
    ).rows;
  }

  /** The file of this name; null if there is none, or it was given up. */
  async file(name: string): Promise<PublicFile | null> {
    return (await this.#database.reader.query(selectFile, [name])).rows[0] ?? null;
  }

  /**
   * Uploads that are due at this log time, up to `atOnce` of each kind per partition, so that a halted partition blocks
   * no other.
   */
  async due(time: number, atOnce: number): Promise<UploadToCheck[]> {
    const { rows } = await this.#database.pool.query<UploadToCheck>(
      `select due.id, due.team_id as "teamId", progress.next from progress cross join lateral (
          (select uploads.id, team_id from uploads join teams on teams.id = uploads.team_id
            where teams.partition = progress.partition and ${isNotHeld} and removed_at is null and file is null
            and expires_at < $1
            order by expires_at limit $2)
          union all
          (select uploads.id, team_id from uploads join teams on teams.id = uploads.team_id
            where teams.partition = progress.partition and ${isNotHeld} and removed_at is null
            and unclaimed_since + unclaimed_life_ms < $1
            order by unclaimed_since + unclaimed_life_ms limit $2)
        ) due`,
      [time, atOnce],
    );
    return rows;
  }

  /**
   * Checks the next `atOnce` uploads after `after`, by ID. Returns those whose files rows have begun to name, or no
   * longer name.
   */
  async claimsMoved(
    after: string,
    atOnce: number,
  ): Promise<{ readonly moved: readonly UploadToCheck[]; readonly last: string | null }> {
    const { rows } = await this.#database.pool.query<UploadToCheck & { readonly claimed: boolean }>(
      `select uploads.id, uploads.team_id as "teamId", progress.next, unclaimed_since is null as claimed
        from uploads join teams on teams.id = uploads.team_id join progress on progress.partition = teams.partition
        where uploads.id > $1 and uploads.file is not null and uploads.removed_at is null and ${isNotHeld}
        order by uploads.id limit $2`,
      [after, atOnce],
    );
    const claims = await this.#database.scans.with((tx) =>
      findClaims(
        tx,
        rows.map(({ id }) => id),
      ),
    );
    const now = new Map(claims.map(({ uploadId, isClaimed }) => [uploadId, isClaimed]));
    const moved = rows.filter(({ id, claimed }) => now.has(id) && now.get(id) !== claimed);
    return { moved, last: rows.length < atOnce ? null : rows.at(-1)!.id };
  }

  /** Given-up uploads whose bytes have not been removed yet. */
  async givenUp(atOnce: number): Promise<GivenUpUpload[]> {
    const { rows } = await this.#database.pool.query<GivenUpUpload>(
      'select id, file from uploads where removed_at is not null and not cleared limit $1',
      [atOnce],
    );
    return rows;
  }

  /** Notes that the bytes of uploads are removed. No decision depends on it. */
  async setCleared(ids: readonly string[]): Promise<void> {
    await this.#database.pool.query('update uploads set cleared = true where id = any($1)', [ids]);
  }

  /** The names in this list that belong to public files. */
  async knownFiles(names: readonly string[]): Promise<Set<string>> {
    const { rows } = await this.#database.pool.query<{ file: string }>(
      'select file from uploads where file = any($1) and removed_at is null',
      [names],
    );
    return new Set(rows.map(({ file }) => file));
  }

  /** The uploads in this list that may still receive bytes. */
  async open(ids: readonly string[]): Promise<Set<string>> {
    const { rows } = await this.#database.pool.query<{ id: string }>(
      'select id from uploads where id = any($1) and file is null and removed_at is null',
      [ids],
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** The progress of each partition. */
  async progress(): Promise<ProjectedPartition[]> {
    const { rows } = await this.#database.pool.query<ProjectedPartition>(
      `select partition, next, log_id as "logId", held <> '{}' as "isHeld" from progress order by partition`,
    );
    return rows;
  }
}

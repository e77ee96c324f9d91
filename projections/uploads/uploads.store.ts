/** Uploads in Postgres, as a batch reads and writes them. */
import type { BoundStatement } from '../../src/database/combine.ts';
import type { ResultRow, Statement, Tx } from '../../src/database/pipelined-client.ts';
import { RowsStatement } from '../../src/database/rows-statement.ts';
import type { Upload } from './upload.ts';

const uploadColumns = `id, team_id, app_id, content_type, file_name, created, created_at, expires_at, size_max, unclaimed_life_ms,
  file, size, unclaimed_since, removed_at`;

const selectUploads: Statement = {
  name: 'select_uploads',
  text: `select ${uploadColumns} from uploads where id = any($1::uuid[])`,
};

export async function findUploads(tx: Tx, ids: readonly string[]): Promise<Upload[]> {
  const { rows } = await tx.query(selectUploads, [ids]);
  return rows.map(toUpload);
}

function toUpload(row: ResultRow): Upload {
  const [id, teamId, appId, contentType, fileName, created, createdAt, expiresAt, sizeMax, unclaimedLifeMs, name, size,
    unclaimedSince, removedAt] = row;
  return {
    id, teamId, appId, contentType, fileName, created, createdAt: Number(createdAt), expiresAt: Number(expiresAt),
    sizeMax: Number(sizeMax), unclaimedLifeMs: Number(unclaimedLifeMs), file: name === null ? null : { name, size: Number(size) },
    unclaimedSince: unclaimedSince === null ? null : Number(unclaimedSince), removedAt: removedAt === null ? null : Number(removedAt),
  };
}

const upsertUploads = new RowsStatement<Upload>(
  'upsert_uploads',
  [
    ['uuid', (upload) => upload.id], ['uuid', (upload) => upload.teamId], ['text', (upload) => upload.appId],
    ['text', (upload) => upload.contentType], ['text', (upload) => upload.fileName], ['int8', (upload) => upload.created],
    ['int8', (upload) => upload.createdAt], ['int8', (upload) => upload.expiresAt], ['int8', (upload) => upload.sizeMax],
    ['int8', (upload) => upload.unclaimedLifeMs], ['text', (upload) => upload.file?.name ?? null],
    ['int8', (upload) => upload.file?.size ?? null], ['int8', (upload) => upload.unclaimedSince],
    ['int8', (upload) => upload.removedAt],
  ],
  (rows) => `insert into uploads (${uploadColumns}) select * from ${rows} as given
    on conflict (id) do update set file = excluded.file, size = excluded.size, unclaimed_since = excluded.unclaimed_since,
      removed_at = excluded.removed_at`,
);

export function storeUploads(uploads: readonly Upload[]): BoundStatement {
  return upsertUploads.bind(uploads);
}

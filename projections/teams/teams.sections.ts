/** What replay must give again of teams and tokens. */
import type { Section } from '../engine/compare/section.ts';

export const teamSections: readonly Section[] = [
  {
    name: ([id]) => `team ${id}`,
    keys: 1,
    columns: ['partition', 'name', 'created', 'suspended', 'rows', 'rows_max', 'upload_bytes', 'upload_bytes_max', 'open_uploads'],
    query: `select id, partition, name, created, suspended, rows, rows_max, upload_bytes, upload_bytes_max, open_uploads
      from teams order by id`,
  },
  {
    name: ([id]) => `token ${id}`,
    keys: 1,
    columns: ['team_id', 'name', 'hash', 'created', 'expires_at', 'read_only', 'app_id', 'revoked'],
    query: `select id, team_id, name, encode(hash, 'hex'), created, expires_at, read_only, app_id, revoked from tokens order by id`,
  },
];

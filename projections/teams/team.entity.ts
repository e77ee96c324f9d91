/** Teams and tokens in Postgres. */
import { defineEntity, p } from '@mikro-orm/core';
import { HexBytes, StoredTable } from '../../src/storage/database/stored-table.ts';

export const TeamEntity = defineEntity({
  name: 'Team',
  tableName: 'teams',
  properties: {
    id: p.uuid().primary(),
    partition: p.smallint(),
    name: p.text(),
    created: p.bigint(),
    suspended: p.boolean(),
    /**
     * For each quota (src/language/events/quota.ts), how much the team uses, and the limit of its plan. The limit is
     * null if the plan sets none.
     */
    rows: p.bigint('number'),
    rowsMax: p.bigint('number').nullable(),
    tables: p.bigint('number'),
    tablesMax: p.bigint('number').nullable(),
    /** Stashes that have neither been deleted nor expired. */
    stashes: p.bigint('number'),
    stashesMax: p.bigint('number').nullable(),
    /** Bodies of several blocks that wait for their closing event. */
    openBodies: p.bigint('number'),
    openBodiesMax: p.bigint('number').nullable(),
    /** Uploads that are neither completed nor given up, and the maximum of bytes that may arrive for them. */
    openUploads: p.bigint('number'),
    openUploadsMax: p.bigint('number').nullable(),
    openUploadBytes: p.bigint('number'),
    openUploadBytesMax: p.bigint('number').nullable(),
    /** Bytes of its files. */
    uploadBytes: p.bigint('number'),
    uploadBytesMax: p.bigint('number').nullable(),
    /** Another table counts how much the team uses of this (src/api/usage/). */
    logBytesPerDayMax: p.bigint('number').nullable(),
  },
});

export const storedTeams = StoredTable.of(TeamEntity);

export const TokenEntity = defineEntity({
  name: 'Token',
  tableName: 'tokens',
  properties: {
    id: p.uuid().primary(),
    teamId: p.uuid(),
    /** SHA-256 of the token. The token itself is shown once; only its last characters are stored. */
    hash: p.type(HexBytes).unique(),
    name: p.text(),
    /** The version of the event that created it, and the time of its record in milliseconds. */
    created: p.bigint(),
    createdAt: p.bigint('number'),
    /** The last characters of the token; null: an earlier version of the service made the token. */
    endsIn: p.string().columnType('text').nullable(),
    /** The token is refused from this log time on, in milliseconds; null: never. */
    expiresAt: p.bigint('number').nullable(),
    readOnly: p.boolean(),
    /** The app to which the token is limited; null: the whole team. */
    appId: p.string().columnType('text').nullable(),
    revoked: p.boolean(),
  },
});

export const storedTokens = StoredTable.of(TokenEntity);

/** Teams and tokens in Postgres. */
import { defineEntity, p } from '@mikro-orm/core';
import { HexBytes, StoredTable } from '../../src/database/stored-table.ts';

export const TeamEntity = defineEntity({
  name: 'Team',
  tableName: 'teams',
  properties: {
    id: p.uuid().primary(),
    partition: p.smallint(),
    name: p.text(),
    created: p.bigint(),
    suspended: p.boolean(),
    /** The number of rows in the team's tables. */
    rows: p.bigint('number'),
    /** The plan's limit of rows; null: none. */
    rowsMax: p.bigint('number').nullable(),
    /** The bytes of its files, and the plan's limit of them; null: none. */
    uploadBytes: p.bigint('number'),
    uploadBytesMax: p.bigint('number').nullable(),
    /** Its uploads that are neither completed nor given up. */
    openUploads: p.bigint('number'),
  },
});

export const storedTeams = StoredTable.of(TeamEntity);

export const TokenEntity = defineEntity({
  name: 'Token',
  tableName: 'tokens',
  properties: {
    id: p.uuid().primary(),
    teamId: p.uuid(),
    /** SHA-256 of the token; the token itself is shown once and never stored. */
    hash: p.type(HexBytes).unique(),
    name: p.text(),
    created: p.bigint(),
    /** The log time from which on it is refused, in milliseconds; null: never. */
    expiresAt: p.bigint('number').nullable(),
    readOnly: p.boolean(),
    /** The app to which it is restricted; null: valid for the whole team. */
    appId: p.string().columnType('text').nullable(),
    revoked: p.boolean(),
  },
});

export const storedTokens = StoredTable.of(TokenEntity);

import { defineEntity, p } from '@mikro-orm/core';

export const TeamEntity = defineEntity({
  name: 'Team',
  tableName: 'teams',
  properties: {
    id: p.uuid().primary(),
    partition: p.smallint(),
    name: p.text(),
    created: p.bigint(),
    suspended: p.boolean(),
    /** The rows that the team's tables show. */
    rows: p.bigint(),
    /** The plan's limit of them; null: none. */
    rowsMax: p.bigint().nullable(),
  },
});

export const TokenEntity = defineEntity({
  name: 'Token',
  tableName: 'tokens',
  properties: {
    id: p.uuid().primary(),
    teamId: p.uuid(),
    /** SHA-256 of the token; the token itself is shown once and stored nowhere. */
    hash: p.blob().unique(),
    name: p.text(),
    created: p.bigint(),
    revoked: p.boolean(),
  },
});

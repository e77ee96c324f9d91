/** Tokens of operators, in a database that an earlier version of the service used. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { newToken, storeOperatorToken } from '../../../../src/administration/tokens.ts';
import { listOperatorTokens } from '../../../../src/storage/security/operator-tokens.ts';
import { createTokenNotes, operatorTokens } from '../../../../src/storage/security/token-notes.ts';
import { createDatabase } from '../../../support/postgres.ts';

test('tokens from before their last characters were noted stay, and new ones have them', async () => {
  const { url, drop } = await createDatabase();
  const pool = new pg.Pool({ connectionString: url });
  try {
    await pool.query('create schema tablog_tokens');
    await pool.query(
      `create table ${operatorTokens} (id uuid primary key, hash bytea not null unique, name text not null, expires_at int8, revoked boolean not null default false)`,
    );
    const id = '01a21ebe-98d6-7749-8027-1a4270ca1f63';
    await pool.query(`insert into ${operatorTokens} (id, hash, name) values ($1, $2, 'old')`, [
      id,
      Buffer.from(randomUUID()),
    ]);
    for (let start = 0; start < 2; start += 1) await createTokenNotes(pool);
    const made = newToken();
    await storeOperatorToken(pool, made, 'new', null);
    const common = { expiresAt: null, revoked: false, usedAt: null };
    expect(await listOperatorTokens(pool)).toEqual(
      [
        { ...common, id, name: 'old', createdAt: 0x01a21ebe98d6, endsIn: null },
        {
          ...common,
          id: made.id,
          name: 'new',
          createdAt: Number.parseInt(made.id.replace('-', '').slice(0, 12), 16),
          endsIn: made.token.slice(-6),
        },
      ].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
  } finally {
    await pool.end();
    await drop();
  }
});

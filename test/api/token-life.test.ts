/** Decisions 1: tokens that expire or are revoked, and their last use. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { pino, type Logger } from 'pino';
import { readModelSchema } from '../../projections/models.ts';
import { TeamQueries } from '../../projections/teams/teams.queries.ts';
import { Database } from '../../src/storage/database/database.ts';
import { noteRevocation, noteUses, revocationNotes } from '../../src/storage/security/token-notes.ts';
import { rebuild } from '../support/rebuild.ts';
import { recordRevocation, tellRevocations } from '../../src/administration/tell-revocations.ts';
import { TokenUses } from '../../src/storage/security/token-uses.ts';
import { promptly, useApi, type Team, type Token } from '../support/api.ts';
import { Client } from '../support/client.ts';
import { useOperator } from '../support/operator.ts';
import { sleepUntil } from '../support/server.ts';
import { unknownTableId } from '../support/tables.ts';

const { api } = useApi(promptly);
const operator = useOperator({ api });

let team: Team;
beforeAll(async () => {
  team = await api().createTeam();
});

const unknownToken = '{"error":{"type":"request_error","message":"The bearer token does not exist or is incorrect."}}';

/** The same client at each process that answers requests. */
function everywhere({ client }: Token): Client[] {
  return api()
    .processes.filter(({ role }) => role !== 'projector')
    .map(({ url }) => new Client(url, client.token));
}

async function isRefusedEverywhere(token: Token): Promise<boolean> {
  const answers = await Promise.all(everywhere(token).map((client) => client.get('/tables')));
  return answers.every(({ status, text }) => status === 404 && text === unknownToken);
}

async function isRefusedNowhere(token: Token): Promise<boolean> {
  const answers = await Promise.all(everywhere(token).map((client) => client.get('/tables')));
  return answers.every(({ status }) => status === 200);
}

describe('a token that expires', () => {
  test('is valid until then, and unknown afterwards', async () => {
    const token = await team.createToken({ expiresAt: operator().log.now() + 3_600_000 });
    expect(await isRefusedNowhere(token)).toBe(true);
    // It expires now.
    await operator().database.pool.query('update tokens set expires_at = $2 where id = $1', [
      token.id,
      operator().log.now(),
    ]);
    await sleepUntil(() => isRefusedEverywhere(token), 'the token has expired');
    expect(await isRefusedNowhere(await team.createToken({ expiresAt: operator().log.now() + 3_600_000 }))).toBe(true);
  });

  test('is never valid if its time had passed when it was created', async () => {
    expect(await isRefusedEverywhere(await team.createToken({ expiresAt: 0 }))).toBe(true);
  });
});

describe('a token that is revoked', () => {
  const isNoted = async ({ id }: Token): Promise<boolean> => {
    const { rows } = await operator().database.pool.query(`select from ${revocationNotes} where token_id = $1`, [id]);
    return rows.length > 0;
  };
  const revocationsIn = async ({ id }: Token): Promise<boolean> => {
    const { rows } = await operator().database.pool.query('select revoked from tokens where id = $1', [id]);
    return rows[0].revoked;
  };
  const untilRefused = (token: Token): Promise<void> =>
    sleepUntil(() => isRefusedEverywhere(token), 'the revocation has taken effect');

  /** Whether a read model that is rebuilt from the log, in a schema of its own, accepts the token. */
  async function isGoodAfterRebuild({ client }: Token): Promise<boolean> {
    const { databaseUrl: url } = api();
    const options = { url, schema: `${readModelSchema}_again` };
    await rebuild({ ...options, log: operator().log });
    const rebuilt = await Database.open(options);
    try {
      return (await new TeamQueries(rebuilt).token(client.token)) !== null;
    } finally {
      await rebuilt.close();
    }
  }

  test('is refused by every process before the log has the revocation, and after a rebuild', async () => {
    const { database, log } = operator();
    const [revoked, other] = await Promise.all([team.createToken({}), team.createToken({})]);
    expect(await isRefusedNowhere(revoked)).toBe(true);
    await noteRevocation(database.pool, revoked.id);
    await untilRefused(revoked);
    expect(await revocationsIn(revoked)).toBe(false);
    expect(await isGoodAfterRebuild(revoked)).toBe(false);
    expect(await isGoodAfterRebuild(other)).toBe(true);

    // The log may get the revocation twice, and the note stays for a while.
    await Promise.all([tellRevocations(database, log), tellRevocations(database, log)]);
    expect(await tellRevocations(database, log)).toBe(false);
    expect([await revocationsIn(revoked), await isNoted(revoked)]).toEqual([true, true]);
    await tellRevocations(database, log, 0);
    expect([await revocationsIn(revoked), await isNoted(revoked)]).toEqual([true, false]);
    expect(await isRefusedEverywhere(revoked)).toBe(true);
    expect(await isGoodAfterRebuild(revoked)).toBe(false);
    expect(await isRefusedNowhere(other)).toBe(true);
  });

  test('is refused if only the log has the revocation', async () => {
    const revoked = await team.createToken({});
    expect(await isRefusedNowhere(revoked)).toBe(true);
    await recordRevocation(operator().log, team.id, revoked.id);
    await untilRefused(revoked);
  });

  test('is kept as a note, without harm, if nobody knows the token', async () => {
    const { database, log } = operator();
    const unknown = { ...(await team.createToken({})), id: unknownTableId };
    await noteRevocation(database.pool, unknown.id);
    await noteRevocation(database.pool, unknown.id);
    expect(await tellRevocations(database, log, 0)).toBe(false);
    expect(await isNoted(unknown)).toBe(true);
  });
});

describe('when a token was last used', () => {
  const usedAt = async (id: string): Promise<number | null> => {
    return (await operator().queries.teams.tokens(team.id)).find((token) => token.id === id)!.usedAt;
  };
  const silent = pino({ level: 'silent' });

  test('is written in the background, and the rest when the process ends', async () => {
    const {
      database: { pool },
    } = operator();
    const [first, second] = await Promise.all([team.createToken({}), team.createToken({})]);
    expect(await usedAt(first.id)).toBeNull();
    const uses = new TokenUses({ pool, logger: silent, interval: 10 });
    uses.add(first.id, 60_000);
    await sleepUntil(async () => (await usedAt(first.id)) === 60_000, 'the use is written');
    uses.add(second.id, 5);
    uses.add(second.id, 6);
    uses.add(first.id, 120_000);
    await uses.close();
    expect([await usedAt(first.id), await usedAt(second.id)]).toEqual([120_000, 6]);
    // The value that another process wrote is newer.
    await noteUses(pool, new Map([[first.id, 1]]));
    expect(await usedAt(first.id)).toBe(120_000);
  });

  test('is written later if it cannot be written at once', async () => {
    const {
      database: { pool },
    } = operator();
    const { id } = await team.createToken({});
    let isAway = true;
    const flaky = {
      query: (...args: [string, unknown[]]) => (isAway ? Promise.reject(new Error('away')) : pool.query(...args)),
    };
    const warnings: unknown[] = [];
    const logger = { warn: (warning: unknown) => void warnings.push(warning) } as Pick<Logger, 'warn'>;
    const uses = new TokenUses({ pool: flaky as unknown as typeof pool, logger, interval: 10 });
    uses.add(id, 7);
    await sleepUntil(() => warnings.length >= 2, 'it was tried again');
    uses.add(id, 8);
    isAway = false;
    await uses.close();
    expect(await usedAt(id)).toBe(8);
  });
});

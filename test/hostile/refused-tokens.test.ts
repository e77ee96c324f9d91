/** Clients of one address that send wrong tokens, beside others of that address that send right ones. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { newAccessToken } from '../../src/storage/security/access-token.ts';
import { useOwnApi } from '../support/api.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { postUpload, sendBytes } from '../support/uploads.ts';
import { metric, Neighbour } from './neighbours.ts';

const allowed = 20;
const window = { RATE_LIMIT_WINDOW_MS: '86400000' };
const { api } = useOwnApi({ RATE_LIMIT_REFUSALS: String(allowed), ...window });
const wrong = '404 request_error';
const limited = '429 rate_limited';
const tables = async (token: string): Promise<string> => outcomeOf(await new Client(api().url, token).get('/tables'));
const refused = (): Promise<number> => metric(api(), 'tablog_http_requests_rate_limited_total', { limit: 'refusals' });

test('are refused by their address from the limit on, and right tokens never are', async () => {
  const team = await api().createTeam();
  const neighbour = await Neighbour.begin(team);
  const upload = await postUpload(team.client);
  const forged = `${api().url}/uploads/${randomUUID()}?signature=x`;
  expect([await tables('x'), await tables(newAccessToken()), await sendBytes({ location: forged }, 'bytes')]).toEqual([
    wrong,
    wrong,
    '403 forbidden',
  ]);
  for (let times = 3; times < allowed; times += 1) expect(await tables(newAccessToken())).toBe(wrong);

  // Now the address has used up its refusals.
  const answer = await new Client(api().url, 'x').get('/tables');
  expect(outcomeOf(answer)).toBe(limited);
  expect(answer.json.error.message).toMatch(
    /^The client address is limited to 20 refusals in 86400 s\. Try again in \d+ s\.$/,
  );
  // A 20th of the window.
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(4000);
  expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(4320);
  expect([await tables(newAccessToken()), await sendBytes({ location: forged }, 'bytes')]).toEqual([limited, limited]);
  for (const path of ['/livez', '/readyz', '/openapi.json'])
    expect((await fetch(`${api().url}${path}`)).status).toBe(200);
  expect(await sendBytes(upload, 'bytes')).toBe('200');

  const before = await refused();
  const attack = Promise.all(Array.from({ length: 400 }, () => tables(newAccessToken())));
  const newTokens = await Promise.all(Array.from({ length: 5 }, () => team.createToken({})));
  // Their first requests are held back for a moment: the service has never seen these tokens.
  const outcomes = await Promise.all(newTokens.map(({ client }) => tables(client.token)));
  expect(outcomes).toEqual(newTokens.map(() => '200'));
  expect(new Set(await attack)).toEqual(new Set([limited]));
  expect(await refused()).toBe(before + 400);
  expect(new Set(await neighbour.stop())).toEqual(new Set(['200']));
});

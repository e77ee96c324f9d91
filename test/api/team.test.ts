/** What a client learns of its token and its team: our paths, decisions 3. */
import { expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';

const { api } = useApi();

test('a token says whose it is, and what it may do', async () => {
  const team = await api().createTeam();
  const expiresAt = Date.now() + 3_600_000;
  const whole = { name: 'test', team: { id: team.id, name: 'test' }, readOnly: false, appID: null, expires: null };
  const told = await team.client.get('/token');
  expect([told.status, told.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(told.json.data).toEqual({ ...whole, id: expect.any(String) });
  for (const [limits, changed] of [
    [{}, {}], [{ readOnly: true }, { readOnly: true }], [{ appId: 'shop' }, { appID: 'shop' }], [{ expiresAt }, { expires: new Date(expiresAt).toISOString() }],
  ] as const) {
    const token = await team.createToken(limits);
    expect((await token.client.get('/token')).json.data).toEqual({ ...whole, id: token.id, ...changed });
  }
});

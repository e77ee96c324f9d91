/** A team that writes as much at once as it can. */
import { expect, test } from '@jest/globals';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { createTable } from '../support/tables.ts';
import { metric, Neighbour, neighbourOf } from './neighbours.ts';

const eventsMax = 40;
const { api } = useOwnApi({ APPEND_QUEUE_EVENTS_MAX: String(eventsMax), OUTCOME_WAIT_MS: '60000' });

test('waits for its turn, loses nothing, and another team of its partition is refused nothing', async () => {
  const team = await api().createTeam();
  const neighbour = await Neighbour.begin(await neighbourOf(api(), team));
  const { path, rowIds } = await createTable(
    team.client,
    Array.from({ length: 300 }, () => ({ n: -1 })),
  );
  const patching = Promise.all(
    Array.from({ length: 1500 }, (_, n) => team.client.patch(`${path}/${rowIds[n % 300]}`, { n })),
  );
  let isDone = false;
  let most = 0;
  const watching = (async () => {
    while (!isDone) most = Math.max(most, await metric(team.client, 'tablog_log_queue_events'));
  })();
  expect(new Set((await patching).map(outcomeOf))).toEqual(new Set(['200']));
  isDone = true;
  await watching;
  expect(most).toBeLessThanOrEqual(eventsMax);
  expect((await team.client.get(path)).json.data.filter(({ n }: { n: number }) => n >= 0)).toHaveLength(300);
  expect(new Set(await neighbour.stop())).toEqual(new Set(['200']));
  expect(await metric(team.client, 'tablog_log_appends_refused_total')).toBe(0);
});

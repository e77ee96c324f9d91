/** When a process says that it stands still, and when it ends for that. */
import { afterEach, expect, test } from '@jest/globals';
import { StandstillWatch } from '../../../src/app/standstill-watch.ts';
import type { Standstill } from '../../../src/log/event-log.ts';
import { sleepUntil } from '../../support/server.ts';

let watch: StandstillWatch;
let reasons: string[];
let looks: number;
/** What stands still, and whether Postgres answers. */
let standstills: readonly Standstill[];
let answers: boolean;

/** From a quarter of `endMs` on it is not ready. */
function open(endMs: number): void {
  [reasons, looks, standstills, answers] = [[], 0, [], true];
  const ask = (): Promise<unknown> => (answers ? Promise.resolve() : Promise.reject(new Error('away')));
  watch = new StandstillWatch({
    log: {
      standstills: () => {
        looks += 1;
        return standstills;
      },
    },
    askPostgres: ask,
    endMs,
    onHangs: (reason) => reasons.push(reason),
    logger: { warn: () => undefined, info: () => undefined },
  });
}

afterEach(() => watch.close());

const hour = 3_600_000;
const standing = (partition: number, undecidedMs: number, silentMs: number): Standstill => ({
  partition,
  what: '2 appends wait',
  undecidedMs,
  silentMs,
});

async function lookAgain(times = 5): Promise<void> {
  const until = looks + times;
  await sleepUntil(() => looks >= until, 'it has looked again');
}

test('a partition that hangs is named, and ends the process once', async () => {
  open(400);
  standstills = [standing(2, 120, 0), standing(7, hour, hour)];
  await sleepUntil(() => reasons.length > 0, 'it ends');
  expect(reasons).toEqual([
    'Partition 7 has stood still for 3600 s: 2 appends wait. This process hangs. It ends now, so that it is restarted.',
  ]);
  expect(watch.problem).toBe('Partition 7 has stood still for 3600 s: 2 appends wait.');
  await lookAgain();
  expect(reasons).toHaveLength(1);
});

test('a partition that fails and is tried again is named, and does not end the process', async () => {
  open(100);
  standstills = [standing(7, hour, 0)];
  await sleepUntil(() => watch.problem !== null, 'it is not ready');
  await lookAgain(50);
  expect(reasons).toEqual([]);
  standstills = [];
  await sleepUntil(() => watch.problem === null, 'it is ready');
});

test('while Postgres is away that is the reason, and the time of a standstill begins anew', async () => {
  open(1_000_000);
  standstills = [standing(7, hour, hour)];
  answers = false;
  await lookAgain(1);
  // From now on it would take 250 s.
  answers = true;
  await lookAgain(3);
  expect([watch.problem, reasons]).toEqual([null, []]);
}, 60_000);

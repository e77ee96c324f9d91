import { describe, expect, test } from '@jest/globals';
import type { Outcome } from '../../../../src/language/events/outcome.ts';
import { AppendUnknown, NotAppended } from '../../../../src/log/event-log.ts';
import { OutcomeWaiters, type OutcomeWait } from '../../../../src/log/kafka/outcome-waiters.ts';
import { outcomeLife } from '../../../../src/log/outcomes/recorded-outcome.ts';
import { noTeamsHeld, parseHeldTeams } from '../../../../src/log/quarantine/held-teams.ts';

const applied: Outcome = { status: 'applied', result: {} };

/** What a request has been told so far. */
async function told({ outcome }: OutcomeWait): Promise<string> {
  const nothing = new Promise<string>((resolve) => setImmediate(() => resolve('nothing')));
  return Promise.race([
    outcome.then(
      ({ status }) => status,
      (error: Error) => error.name,
    ),
    nothing,
  ]);
}

function waitFor(waiters: OutcomeWaiters, command: string, offset?: bigint): OutcomeWait {
  const wait = waiters.wait(0, command, 'team', null);
  if (offset !== undefined) wait.placedAt({ offset, time: 1000 });
  return wait;
}

describe('a request gets', () => {
  const cases: readonly (readonly [string, (waiters: OutcomeWaiters, wait: OutcomeWait) => void, string])[] = [
    ['what became of its command', (waiters) => waiters.settle(0, 'mine', applied), 'applied'],
    ['nothing of another command', (waiters) => waiters.settle(0, 'other', applied), 'nothing'],
    ['nothing of its command in another partition', (waiters) => waiters.settle(1, 'mine', applied), 'nothing'],
    ['nothing of a projection that is not past it', (waiters) => waiters.advance(0, 0n, 7n), 'nothing'],
    [
      'that it came too late, when its record was projected without an outcome',
      (waiters) => waiters.advance(0, 5n, 8n),
      'NotAppended',
    ],
    ['nothing of records that follow one that others projected', (waiters) => waiters.advance(0, 8n, 9n), 'nothing'],
    [
      'that it came too late, when it was asked for',
      (waiters) => waiters.advanceFor(0, ['mine'], 8n, noTeamsHeld),
      'NotAppended',
    ],
    ['nothing when others were asked for', (waiters) => waiters.advanceFor(0, ['other'], 8n, noTeamsHeld), 'nothing'],
    ['that nobody knows, when its event is held', (waiters) => waiters.hold(0, 'mine'), 'AppendUnknown'],
    ['nothing of another event that is held', (waiters) => waiters.hold(0, 'other'), 'nothing'],
    [
      'that nobody knows, when its team is held and it was asked for',
      (waiters) => waiters.advanceFor(0, ['mine'], 8n, parseHeldTeams('{"team":1}')),
      'AppendUnknown',
    ],
    [
      'that it came too late, when another team is held',
      (waiters) => waiters.advanceFor(0, ['mine'], 8n, parseHeldTeams('{"other":1}')),
      'NotAppended',
    ],
    [
      'nothing while its team is held before its record',
      (waiters) => waiters.advanceFor(0, ['mine'], 7n, parseHeldTeams('{"team":1}')),
      'nothing',
    ],
    ['that nobody knows, when nothing moves', (waiters) => waiters.giveUp(0), 'AppendUnknown'],
    ['nothing while there is time', (waiters) => waiters.giveUp(60_000), 'nothing'],
    ['that nobody knows, when its partition halts', (waiters) => waiters.abandon(0), 'AppendUnknown'],
    ['nothing when another partition halts', (waiters) => waiters.abandon(1), 'nothing'],
    ['why it was not sent', (_, wait) => wait.fail(new NotAppended('no')), 'NotAppended'],
    ['that nobody knows whether it was sent', (_, wait) => wait.fail(new AppendUnknown('lost')), 'AppendUnknown'],
  ];
  test.each(cases)('a request gets %s', async (_name, act, expected) => {
    const waiters = new OutcomeWaiters(2);
    const wait = waitFor(waiters, 'mine', 7n);
    act(waiters, wait);
    expect(await told(wait)).toBe(expected);
    wait.outcome.catch(() => undefined);
  });

  test('a request gets no outcome of an offset before it knows where its own record is', async () => {
    const waiters = new OutcomeWaiters(1);
    const wait = waitFor(waiters, 'mine');
    waiters.advance(0, 0n, 100n);
    waiters.advanceFor(0, ['mine'], 100n, noTeamsHeld);
    expect(await told(wait)).toBe('nothing');
  });
});

test('all waiters for a command get its outcome, and none waits any more', async () => {
  const waiters = new OutcomeWaiters(1);
  const waits = [waitFor(waiters, 'same'), waitFor(waiters, 'same')];
  expect(waiters.commands(0)).toEqual(['same']);
  expect(waiters.settle(0, 'same', applied)).toBe(true);
  expect(await Promise.all(waits.map(told))).toEqual(['applied', 'applied']);
  expect(waiters.commands(0)).toEqual([]);
  expect(waiters.settle(0, 'same', applied)).toBe(false);
});

test('one of two waiters for a command can be refused alone', async () => {
  const waiters = new OutcomeWaiters(1);
  const [first, second] = [waitFor(waiters, 'same', 3n), waitFor(waiters, 'same', 9n)];
  waiters.advance(0, 0n, 5n);
  expect(await Promise.all([told(first), told(second)])).toEqual(['NotAppended', 'nothing']);
  waiters.settle(0, 'same', applied);
  expect(await told(second)).toBe('applied');
});

test('a stored outcome goes to the waiters whose attempt it answers, and the others go on waiting', async () => {
  const waiters = new OutcomeWaiters(1);
  const recorded = { commandId: 'same', offset: 1n, time: 1000, outcome: applied };
  const [repeated, anew, unplaced] = [0, 1, 2].map(() => waiters.wait(0, 'same', 'team', 1000 + outcomeLife));
  repeated!.placedAt({ offset: 8n, time: 1000 + outcomeLife - 1 });
  anew!.placedAt({ offset: 9n, time: 1000 + outcomeLife });
  waiters.settleStored(0, recorded);
  expect(await Promise.all([repeated!, anew!, unplaced!].map(told))).toEqual(['applied', 'nothing', 'nothing']);
  waiters.settleStored(0, { ...recorded, offset: 9n, time: 1000 + outcomeLife });
  expect(await Promise.all([anew!, unplaced!].map(told))).toEqual(['applied', 'applied']);
  expect(waiters.commands(0)).toEqual([]);
});

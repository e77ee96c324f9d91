/** What a job finds of its try: the outcome of its command, unless a later try of another week has replaced that. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { OutcomeQueries, type TryOutcome } from '../../../../src/log/outcomes/outcomes.queries.ts';
import { storeOutcomes } from '../../../../src/log/outcomes/outcomes.store.ts';
import { outcomeLife } from '../../../../src/log/outcomes/recorded-outcome.ts';
import type { Outcome } from '../../../../src/language/events/outcome.ts';
import { useReadModel } from '../../../support/read-model.ts';

const { database } = useReadModel(1, 'file');

const day = 24 * 3_600_000;
const minute = 60_000;
/** Of the first outcome's record. */
const first = 100 * day;
const outcomeAt = (time: number): Outcome => ({ status: 'applied', result: {}, etag: BigInt(time) });

/** What is found of a try at this time, when its command had outcomes at these times. */
async function findAfter(times: readonly number[], triedAt: number): Promise<TryOutcome> {
  const commandId = randomUUID();
  for (const time of times) {
    const { statement, values } = storeOutcomes(
      0,
      [{ commandId, offset: BigInt(time), time, outcome: outcomeAt(time) }],
      'replace',
    );
    await database().writers.with((tx) => tx.query(statement, [...values]));
  }
  const { outcome } = await new OutcomeQueries(database()).find(0, commandId, {
    at: triedAt,
    notAfter: triedAt + minute,
  });
  return outcome;
}

test.each<[string, readonly number[], number, TryOutcome]>([
  ['a try without an outcome', [], first, null],
  ['the try that it came of', [first], first - 1, outcomeAt(first)],
  ['a try of the same command, days later', [first], first + 6 * day, outcomeAt(first)],
  ['a try that came too late, and was made again', [first], first - day, outcomeAt(first)],
  ['a try that certainly counts as a repetition', [first], first + outcomeLife - minute - 1, outcomeAt(first)],
  ['a try that may count as a repetition, or as new', [first], first + outcomeLife - minute, 'forgotten'],
  ['another one', [first], first + outcomeLife + minute, 'forgotten'],
  ['a try that counts as new, and has no outcome yet', [first], first + outcomeLife + minute + 1, null],
  [
    'the try that replaced it',
    [first, first + outcomeLife + 2 * minute],
    first + outcomeLife + 2 * minute - 1,
    outcomeAt(first + outcomeLife + 2 * minute),
  ],
  ['the first try, when another has replaced its outcome', [first, first + outcomeLife], first - 1, 'forgotten'],
  [
    'a later try of the first command, when another has replaced its outcome',
    [first, first + 8 * day],
    first + 6 * day,
    'forgotten',
  ],
  ['a later try of the second command', [first, first + 8 * day], first + 9 * day, outcomeAt(first + 8 * day)],
  [
    'one that may count as a repetition of the first, or as the one that replaced it',
    [first, first + outcomeLife],
    first + outcomeLife - minute,
    'forgotten',
  ],
  ['the same, at the last moment', [first, first + outcomeLife], first + outcomeLife + minute, 'forgotten'],
  [
    'one that certainly counts as the second',
    [first, first + outcomeLife],
    first + outcomeLife + minute + 1,
    outcomeAt(first + outcomeLife),
  ],
])('an attempt finds the outcome: %s', async (_name, times, triedAt, outcome) => {
  expect(await findAfter(times, triedAt)).toEqual(outcome);
});

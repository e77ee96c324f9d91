/** Outcomes survive being stored, and are matched to the attempts that they belong to. */
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { findOutcomes, isDuplicateOutcome, outcomeRow } from '../../../../src/log/outcomes/outcomes.store.ts';
import {
  answersAttempt,
  outcomeLife,
  outcomesKept,
  type CommandAttempt,
  type RecordedOutcome,
} from '../../../../src/log/outcomes/recorded-outcome.ts';
import type { AppliedResult, Outcome, RowRange } from '../../../../src/language/events/outcome.ts';

/** A field that may be left out. */
const maybe = <K extends string, T>(key: K, value: fc.Arbitrary<T>): fc.Arbitrary<{ readonly [P in K]?: T }> =>
  fc.oneof(
    fc.constant({}),
    value.map((each) => ({ [key]: each }) as { readonly [P in K]?: T }),
  );

const count = fc.nat(2 ** 31 - 1);
const version = fc.bigInt(0n, 2n ** 62n);

const range: fc.Arbitrary<RowRange> = fc
  .tuple(
    fc.record({ version, ordinal: count, first: count, count }, { noNullPrototype: true }),
    maybe('extents', fc.integer({ min: 2, max: 1_000_000 })),
    maybe('retainedIn', fc.uuid()),
  )
  .map((parts) => Object.assign({}, ...parts) as RowRange);

const result: fc.Arbitrary<AppliedResult> = fc
  .tuple(
    maybe('tableId', fc.uuid()),
    maybe('rows', fc.array(range, { maxLength: 5 })),
    maybe('droppedCells', fc.nat()),
    maybe('linkedAppIds', fc.array(fc.string(), { minLength: 1, maxLength: 3 })),
  )
  .map((parts) => Object.assign({}, ...parts) as AppliedResult);

const outcome: fc.Arbitrary<Outcome> = fc
  .tuple(
    fc.oneof(
      result.map((each) => ({ status: 'applied', result: each }) as const),
      fc
        .string({ unit: 'grapheme' })
        .map((message) => ({ status: 'refused', refusal: { type: 'stash_not_found', message } }) as const),
    ),
    fc.option(version, { nil: undefined }),
    fc.option(fc.base64String(), { nil: undefined }),
  )
  .map(([decided, etag, requestDigest]) => ({ ...decided, etag, requestDigest }));

test('an outcome comes back as it was stored, also with ranges of many extents', async () => {
  await fc.assert(
    fc.asyncProperty(outcome, fc.uuid(), version, count, async (given, commandId, offset, time) => {
      const recorded: RecordedOutcome = { commandId, offset, time, outcome: given };
      const rows: object[] = [outcomeRow(3, recorded)];
      const tx = { query: async () => ({ rows: rows as never[], rowCount: 1, command: 'SELECT' }) };
      expect(await findOutcomes(tx, 3, [commandId])).toEqual([recorded]);
    }),
    { numRuns: 1000 },
  );
});

test('an outcome counts for seven days, and is stored for fourteen', () => {
  const day = 86_400_000;
  expect([outcomeLife, outcomesKept]).toEqual([7 * day, 14 * day]);
});

describe('an outcome of the record at offset 5 belongs to an attempt', () => {
  const first = { offset: 5n, time: 1_000_000 };
  const edge = first.time + outcomeLife;
  const placed = (offset: bigint, time: number): CommandAttempt => ({ place: { offset, time }, notAfter: time });
  const unplaced = (notAfter: number | null): CommandAttempt => ({ place: null, notAfter });
  test.each<[string, CommandAttempt, boolean]>([
    ['whose record this is, whatever its time', placed(5n, edge + 1), true],
    ['whose record comes before, and so was repeated', placed(4n, edge + 1), true],
    ['whose record comes later in the same week', placed(9n, first.time + 1), true],
    ['whose record is the last that repeats it', placed(9n, edge - 1), true],
    ['but not if its record is the first that counts as new', placed(9n, edge), false],
    ['with an unknown record that repeats it or comes too late', unplaced(edge - 1), true],
    ['but not with an unknown record that may count as new', unplaced(edge), false],
    ['that is the only one of its command', unplaced(null), true],
  ])('whether the outcome at offset 5 answers an attempt %s', (_name, attempt, expected) => {
    expect(answersAttempt(first, attempt)).toBe(expected);
  });
});

test('only a second outcome of a command is a duplicate', () => {
  const violation = (code: string, constraint: string): Error =>
    Object.assign(new Error('refused'), { code, constraint });
  expect(isDuplicateOutcome(violation('23505', 'outcomes_pkey'))).toBe(true);
  expect(isDuplicateOutcome(violation('23505', 'segments_pkey'))).toBe(false);
  expect(isDuplicateOutcome(violation('40001', 'outcomes_pkey'))).toBe(false);
});

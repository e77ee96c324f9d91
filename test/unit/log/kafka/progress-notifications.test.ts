/** What a projector tells other processes: any outcomes that fit into a notification of Postgres. */
import { expect, test } from '@jest/globals';
import { decodeNotification, encodeNotification } from '../../../../src/log/kafka/progress-notifications.ts';
import type { Outcome } from '../../../../src/language/events/outcome.ts';
import { fc } from '../../../support/property.ts';

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({
    status: fc.constant('applied' as const),
    result: fc.constantFrom({}, { rows: [{ version: 2n ** 40n, ordinal: 0, first: 3, count: 9 }] }),
    etag: fc.option(fc.bigInt(0n, 2n ** 60n), { nil: undefined }),
    requestDigest: fc.option(fc.base64String(), { nil: undefined }),
  }),
  fc.record({
    status: fc.constant('refused' as const),
    refusal: fc.record({ type: fc.constant('limit_exceeded' as const), message: fc.string({ maxLength: 2000 }) }),
    etag: fc.constant(undefined),
    requestDigest: fc.option(fc.base64String(), { nil: undefined }),
  }),
);

test('either all outcomes of a notification arrive unchanged, or none', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.uuid(), outcome), { maxLength: 60 }), fc.bigInt(0n, 2n ** 50n), (pairs, from) => {
      const given = { partition: 3, from, next: from + 9n, outcomes: new Map(pairs) };
      const text = encodeNotification(given);
      expect(Buffer.byteLength(text)).toBeLessThan(8000);
      const { outcomes, ...rest } = decodeNotification(text)!;
      expect(rest).toEqual({ partition: 3, from, next: from + 9n });
      if (outcomes !== null) expect(outcomes).toEqual(given.outcomes);
      else
        expect(
          pairs.length > 40 ||
            JSON.stringify(pairs, (_, value) => (typeof value === 'bigint' ? String(value) : value)).length > 3500,
        ).toBe(true);
    }),
  );
});

test('progress is sent without outcomes if they are not known', () => {
  const given = { partition: 0, from: 1n, next: 2n, outcomes: null };
  expect(decodeNotification(encodeNotification(given))).toEqual(given);
});

test.each(['', 'x', '3:17', '{}', '[1]', 'null'])('%j is no notification', (text) =>
  expect(decodeNotification(text)).toBeNull(),
);

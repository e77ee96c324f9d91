/**
 * A part of the log was lost: which versions its partition has afterwards, and what If-Match says of those that are
 * lost.
 */
import { describe, expect, test } from '@jest/globals';
import { versionsAt, type Versions } from '../../../../src/log/progress/versions.ts';
import { changedSince } from '../../../../projections/tables/guards.ts';
import type { Event, EventData } from '../../../../src/language/events/event.ts';
import { resumedBase } from '../../../../src/log/resume.ts';
import { given, here, when } from '../../../support/decisions.ts';
import { fc } from '../../../support/property.ts';
import { add, few } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';

const event = (data: EventData): Event => ({
  commandId: 'a',
  notAfter: null,
  requestDigest: null,
  data,
  body: () => new Uint8Array(0),
});
const resumed = (base: bigint): Event => event({ type: 'LogResumed', base });
const begin: Versions = { base: 0n, gaps: [] };

describe('the versions of a partition', () => {
  test.each<[what: string, Event, offset: bigint, Versions, Versions]>([
    ['begin at 0', event({ type: 'GenerationStarted', logId: 'log', base: 0n }), 0n, begin, begin],
    [
      'go on with other events',
      event({ type: 'TeamResumed', teamId: 'team' }),
      9n,
      { base: 5n, gaps: [] },
      { base: 5n, gaps: [] },
    ],
    ['leave a gap', resumed(100n), 9n, begin, { base: 100n, gaps: [{ from: 9n, to: 109n }] }],
    [
      'leave another one',
      resumed(300n),
      20n,
      { base: 100n, gaps: [{ from: 9n, to: 109n }] },
      {
        base: 300n,
        gaps: [
          { from: 9n, to: 109n },
          { from: 120n, to: 320n },
        ],
      },
    ],
    ['never fall', resumed(99n), 20n, { base: 100n, gaps: [] }, { base: 100n, gaps: [] }],
    [
      'do not change when the event comes again',
      resumed(100n),
      20n,
      { base: 100n, gaps: [] },
      { base: 100n, gaps: [] },
    ],
  ])('the versions of a partition %s', (_what, given, offset, before, after) => {
    expect(versionsAt(given, offset, before)).toEqual(after);
  });

  test('rise, and each is issued once or lies in a gap', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(2000)), { maxLength: 60 }), (bases) => {
        let versions = begin;
        let next = 0n;
        for (const [at, base] of bases.entries()) {
          const offset = BigInt(at);
          const known = versions.gaps.length;
          versions = versionsAt(
            base === null ? event({ type: 'TeamResumed', teamId: 'team' }) : resumed(BigInt(base)),
            offset,
            versions,
          );
          const version = versions.base + offset;
          expect(versions.gaps.slice(known)).toEqual(version === next ? [] : [{ from: next, to: version }]);
          next = version + 1n;
        }
      }),
    );
  });

  const begins = Date.UTC(2026, 0, 1);
  const hour = 3600;

  test.each([
    ['by the time', 0n, hour, BigInt(hour) * 2n ** 21n],
    [
      'by the time, at least 2^32 above those that are known',
      BigInt(hour) * 2n ** 21n - 2n ** 32n,
      hour,
      BigInt(hour) * 2n ** 21n,
    ],
    ['higher, if they were just resumed', BigInt(hour) * 2n ** 21n, hour + 1, BigInt(hour + 1) * 2n ** 21n + 2n ** 37n],
    ['higher, if a clock was ahead', 2n ** 50n, 0, 2n ** 50n + 2n ** 37n],
  ])('the versions of a partition resume %s', (_what, version, seconds, base) => {
    expect(resumedBase(version, begins + seconds * 1000)).toBe(base);
  });

  const instant = fc.integer({ min: begins, max: Date.UTC(2160, 0, 1) });
  const known = fc.bigInt(0n, 2n ** 52n);

  test('are different if the same backup is resumed again, a second to nine hours later', () => {
    fc.assert(
      fc.property(known, instant, fc.integer({ min: 1, max: 9 * hour }), (version, now, laterBy) => {
        const difference = resumedBase(version, now + laterBy * 1000) - resumedBase(version, now);
        // Either a partition gives out fewer within that time, or it takes half of the 18 hours of versions until they
        // meet.
        expect(difference >= BigInt(laterBy) * 2n ** 21n || difference <= -(2n ** 36n)).toBe(true);
      }),
    );
  });

  test('rise at any time, and stay below 2^53', () => {
    fc.assert(
      fc.property(instant, instant, fc.nat(2 ** 30), (first, second, events) => {
        const version = resumedBase(0n, first) + BigInt(events);
        const next = resumedBase(version, second);
        expect(next).toBeGreaterThanOrEqual(version + 2n ** 32n);
        expect(next).toBeLessThan(2n ** 53n);
      }),
    );
  });
});

describe('If-Match', () => {
  const at = {
    ...here,
    gaps: [
      { from: 30n, to: 1000n },
      { from: 1010n, to: 2000n },
    ],
  };

  test.each<[ifMatch: bigint | null, refused: string | null]>([
    [null, null],
    [19n, 'the row has changed: its version is 20, not 19 or older'],
    [20n, null],
    [29n, null],
    [30n, 'the version 30 is lost: that of the row is 20'],
    [999n, 'the version 999 is lost: that of the row is 20'],
    [1000n, null],
    [1009n, null],
    [1010n, 'the version 1010 is lost: that of the row is 20'],
    [2000n, null],
  ])('If-Match of %s on a row of version 20 is answered: %s', (ifMatch, message) => {
    const refused = changedSince('row', 20n, ifMatch, at);
    expect(refused).toEqual(message && { type: 'precondition_failed', message });
  });
});

describe('few rows', () => {
  test.each<[what: string, gap: Versions['gaps'][number], extent: string]>([
    [
      'open a tail after a loss: the next row IDs of the one before may have been given out',
      { from: 31n, to: 90n },
      'extent 100 1 by 10 plain | rows 100[0] {"a":2}',
    ],
    [
      'join a tail that was opened after the loss',
      { from: 12n, to: 29n },
      'extent 30 2 by 10 plain | rows 30[1] {"a":2}',
    ],
  ])('a few rows %s', (_what, gap, extent) => {
    const added = shown(
      when(given({ tail: ['{"a":1}'] }), add(few('{"a":2}')), { ...here, gaps: [{ from: 5n, to: 11n }, gap] }),
    );
    expect(added).toBe(`ok 100 | table 2 open | ${extent} | team 2`);
  });
});

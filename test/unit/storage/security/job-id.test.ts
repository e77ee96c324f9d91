import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import type { SecretKeys } from '../../../../src/storage/security/secret-keys.ts';
import { formatJobId, parseJobId, requestTagOf, type Job } from '../../../../src/storage/security/job-id.ts';
import { keysOf } from '../../../support/secret-keys.ts';

const job: fc.Arbitrary<Job> = fc.record(
  {
    teamId: fc.uuid(),
    partition: fc.nat(255),
    commandId: fc.uuid(),
    notAfter: fc.nat(2 ** 48 - 1),
    rows: fc.option(fc.nat(2 ** 32 - 2)),
    requestTag: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  },
  { noNullPrototype: true },
);

describe("a job's ID", () => {
  test('decodes to the job, and has 92 characters that a URL can contain', () => {
    fc.assert(
      fc.property(job, (given) => {
        const id = formatJobId(keysOf(1), given);
        expect(id).toMatch(/^[\w-]{92}$/);
        expect(parseJobId(keysOf(1), id)).toEqual(given);
        // Also once there is a newer key.
        expect(parseJobId(keysOf(1, 2), id)).toEqual(given);
      }),
    );
  });

  test('with one changed character is invalid', () => {
    fc.assert(
      fc.property(job, fc.nat(91), fc.constantFrom('A', 'z', '0', '_', '-'), (given, at, character) => {
        const id = formatJobId(keysOf(1), given);
        fc.pre(id[at] !== character);
        expect(parseJobId(keysOf(1), id.slice(0, at) + character + id.slice(at + 1))).toBeNull();
      }),
    );
  });

  const signed = formatJobId(keysOf(1), {
    teamId: '01a1ff11-7ce6-7178-9b08-264f4408192e',
    partition: 3,
    commandId: '01a1ff11-9ca3-73f0-bd62-0247538cabdc',
    notAfter: 1e12,
    rows: 5,
    requestTag: 0n,
  });
  test.each([
    ['of an older format', `AQ${signed.slice(2)}`],
    ['nothing', ''],
    ['a word', 'job'],
    ['something longer', `${signed}AAAA`],
    ['something shorter', signed.slice(0, -4)],
    ['other characters', `${signed.slice(0, -1)}!`],
    ["another team's", signed.replace(/^(.{8})./, '$1Z')],
  ])('is never %s', (_name, id) => {
    expect(parseJobId(keysOf(1), id)).toBeNull();
  });

  test('distinguishes requests under one key, and requests without a key', () => {
    const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
    expect(requestTagOf(digestOf('one'))).toBe(requestTagOf(digestOf('one')));
    expect(requestTagOf(digestOf('one'))).not.toBe(requestTagOf(digestOf('two')));
    expect(requestTagOf(null)).toBe(0n);
  });

  test('that was signed with a foreign key is invalid', () => {
    expect(parseJobId(keysOf(2), signed)).toBeNull();
    const others: SecretKeys = {
      current: { id: 1, bytes: new Uint8Array(32) },
      find: () => ({ id: 1, bytes: new Uint8Array(32) }),
    };
    expect(parseJobId(others, signed)).toBeNull();
  });
});

import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import type { ExpectedUpload } from '../../../../src/storage/files/file-store.ts';
import { signUploadUrl, verifyUploadUrl } from '../../../../src/storage/security/upload-signature.ts';
import { keysOf } from '../../../support/secret-keys.ts';

const origin = 'http://127.0.0.1:8080';

const upload: fc.Arbitrary<ExpectedUpload> = fc.record(
  {
    uploadId: fc.uuid({ version: 7 }),
    contentType: fc.string({ unit: 'grapheme', minLength: 1 }),
    sizeMax: fc.integer({ min: 1, max: 2 ** 40 }),
    expiresAt: fc.integer({ min: 0, max: 2 ** 48 }),
  },
  { noNullPrototype: true },
);

interface Parts {
  readonly uploadId: string;
  readonly query: Record<string, unknown>;
}

/** The path and the query of a URL, as the route gets them. */
function partsOf(url: string): Parts {
  const { pathname, searchParams } = new URL(url);
  return { uploadId: pathname.replace(/^.*\/uploads\//, ''), query: Object.fromEntries(searchParams) };
}

function signed(given: ExpectedUpload): Parts {
  return partsOf(signUploadUrl(keysOf(1), given, origin));
}

describe('the URL of an upload', () => {
  test('contains the upload for which it was made', () => {
    fc.assert(
      fc.property(upload, fc.constantFrom(origin, `${origin}/`, 'https://example.org/tables'), (given, base) => {
        const url = signUploadUrl(keysOf(1), given, base);
        expect(url.startsWith(`${base.replace(/\/$/, '')}/uploads/${given.uploadId}?`)).toBe(true);
        const { uploadId, query } = partsOf(url);
        expect(verifyUploadUrl(keysOf(1), uploadId, query)).toEqual(given);
      }),
    );
  });

  test('is valid if there are newer keys, and invalid without its own', () => {
    fc.assert(
      fc.property(upload, (given) => {
        const { uploadId, query } = signed(given);
        expect(verifyUploadUrl(keysOf(1, 2), uploadId, query)).toEqual(given);
        expect(verifyUploadUrl(keysOf(2), uploadId, query)).toBeNull();
        const renamed = { ...keysOf(2), find: () => keysOf(2).current };
        expect(verifyUploadUrl(renamed, uploadId, query)).toBeNull();
        expect(partsOf(signUploadUrl(keysOf(1, 2), given, origin)).query).toMatchObject({ keyID: '2' });
      }),
    );
  });

  const names = ['contentType', 'sizeMax', 'expiresAt', 'keyID', 'signature'] as const;

  test('is invalid if any part of it is changed', () => {
    const change = fc.oneof(
      fc
        .record({ at: fc.nat(), character: fc.string({ minLength: 1, maxLength: 1 }) })
        .map(({ at, character }) => (text: string) => {
          const place = at % text.length;
          return text.slice(0, place) + character + text.slice(place + 1);
        }),
      fc.constantFrom<((text: string) => string)[]>(
        (text) => `${text} `,
        (text) => ` ${text}`,
        (text) => `0${text}`,
        (text) => `+${text}`,
        (text) => `${text}.0`,
        (text) => `${text}e0`,
        (text) => `${text}=`,
        (text) => text.toUpperCase(),
        (text) => text.slice(1),
        (text) => text.slice(0, -1),
        () => '',
        (text) => text + text,
      ),
    );
    fc.assert(
      fc.property(upload, fc.constantFrom('uploadId', ...names), change, (given, name, changeText) => {
        const { uploadId, query } = signed(given);
        const before = name === 'uploadId' ? uploadId : (query[name] as string);
        const after = changeText(before);
        fc.pre(after !== before);
        const changed =
          name === 'uploadId' ? { uploadId: after, query } : { uploadId, query: { ...query, [name]: after } };
        expect(verifyUploadUrl(keysOf(1), changed.uploadId, changed.query)).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  test('is invalid if a part is missing, repeated or added, or comes from another URL', () => {
    fc.assert(
      fc.property(upload, upload, fc.constantFrom(...names), (given, other, name) => {
        const { uploadId, query } = signed(given);
        const { [name]: value, ...rest } = query;
        expect(verifyUploadUrl(keysOf(1), uploadId, rest)).toBeNull();
        expect(verifyUploadUrl(keysOf(1), uploadId, { ...rest, [name]: [value, value] })).toBeNull();
        expect(verifyUploadUrl(keysOf(1), uploadId, { ...rest, [name]: undefined })).toBeNull();
        expect(verifyUploadUrl(keysOf(1), uploadId, { ...query, more: '' })).toBeNull();
        const others = signed(other);
        fc.pre(others.query[name] !== value && uploadId !== others.uploadId);
        expect(verifyUploadUrl(keysOf(1), uploadId, { ...rest, [name]: others.query[name] })).toBeNull();
        expect(verifyUploadUrl(keysOf(1), others.uploadId, query)).toBeNull();
      }),
    );
  });

  test('cannot be signed with a signature of the same text for another purpose', () => {
    fc.assert(
      fc.property(upload, (given) => {
        const { uploadId, query } = signed(given);
        const text = JSON.stringify([
          uploadId,
          query['contentType'],
          query['sizeMax'],
          query['expiresAt'],
          query['keyID'],
        ]);
        const plain = createHmac('sha256', keysOf(1).current.bytes).update(text).digest('base64url');
        expect(verifyUploadUrl(keysOf(1), uploadId, { ...query, signature: plain })).toBeNull();
      }),
    );
  });
});

/** Which events a process takes in, and why not. */
import { describe, expect, test } from '@jest/globals';
import { AppendQueue } from '../../../../src/log/batch/append-queue.ts';
import { errorTypeOf } from '../../../../src/api/http/answers/error-reply.ts';
import { noLogObserver, type RefusalReason } from '../../../../src/log/log-observer.ts';

describe('an event is accepted if all live processes read its language, and there is room', () => {
  test.each<[string, { readonly language: number; readonly size: number }, number, RefusalReason | null]>([
    ['the language that all read', { language: 1, size: 10 }, 1, null],
    ['one that a live process does not read', { language: 2, size: 10 }, 1, 'language'],
    ['one that by now all read', { language: 2, size: 10 }, 2, null],
    ['one before it', { language: 1, size: 10 }, 2, null],
    ['one after it, and no room', { language: 3, size: 11 }, 2, 'language'],
    ['no room for its bytes', { language: 1, size: 11 }, 1, 'queue_bytes'],
  ])('an event is taken in or refused: %s', (_what, event, languageMax, expected) => {
    const refused: RefusalReason[] = [];
    const observer = { ...noLogObserver, refused: (reason: RefusalReason) => void refused.push(reason) };
    const queue = new AppendQueue({ eventsMax: 1, bytesMax: 10, languageMax: () => languageMax, observer });
    let error: unknown = null;
    try {
      queue.enter(3, event).left('done');
    } catch (thrown) {
      error = thrown;
    }
    expect(refused).toEqual(expected === null ? [] : [expected]);
    expect(error === null ? null : errorTypeOf(error)).toBe(expected === null ? null : 'service_unavailable');
    if (expected === 'language') expect(String(error)).toContain('The service is being upgraded');
  });
});

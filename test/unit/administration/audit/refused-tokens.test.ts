/** How refused tokens are counted, so that they fill no disk. */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { AuditEntry } from '../../../../src/administration/audit/audit-log.ts';
import { RefusedTokens } from '../../../../src/administration/audit/refused-tokens.ts';

let lines: AuditEntry[];
let refused: RefusedTokens;

beforeEach(() => {
  lines = [];
  refused = new RefusedTokens({ write: (entry) => void lines.push(entry), close: () => undefined });
});

afterEach(() => refused.close());

const line = { action: 'token.refused', result: 'request_error' };

test('an address has one line, with its count and its last `X-Forwarded-For`', () => {
  for (const forwardedFor of ['10.0.0.1', undefined, '10.0.0.2, 10.0.0.3'])
    refused.add({ address: '192.0.2.1', forwardedFor });
  refused.add({ address: '192.0.2.2', forwardedFor: undefined });
  refused.add({ address: undefined, forwardedFor: undefined });
  expect(lines).toEqual([]);
  refused.flush();
  expect(lines.toSorted((a, b) => a.address!.localeCompare(b.address!))).toEqual([
    { ...line, address: '192.0.2.1', forwardedFor: '10.0.0.2, 10.0.0.3', count: 3 },
    { ...line, address: '192.0.2.2', count: 1 },
    { ...line, address: 'unknown', count: 1 },
  ]);
});

test('counts that were written are not counted again', () => {
  refused.add({ address: 'a', forwardedFor: undefined });
  refused.flush();
  refused.flush();
  refused.add({ address: 'a', forwardedFor: undefined });
  refused.close();
  expect(lines).toEqual([
    { ...line, address: 'a', count: 1 },
    { ...line, address: 'a', count: 1 },
  ]);
});

test('lines are written once a minute', () => {
  jest.useFakeTimers();
  try {
    const other = new RefusedTokens({ write: (entry) => void lines.push(entry), close: () => undefined });
    other.add({ address: 'a', forwardedFor: undefined });
    jest.advanceTimersByTime(59_999);
    expect(lines).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(lines).toEqual([{ ...line, address: 'a', count: 1 }]);
    other.add({ address: 'a', forwardedFor: undefined });
    jest.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(2);
    other.close();
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

test('a long `X-Forwarded-For` is cut', () => {
  refused.add({ address: 'a', forwardedFor: 'x'.repeat(10_000) });
  refused.add({ address: 'a', forwardedFor: 'y'.repeat(10_000) });
  refused.flush();
  expect(lines[0]!.forwardedFor).toBe('y'.repeat(256));
});

test('beyond the limit, addresses share a line, and no count is lost', () => {
  for (let address = 0; address < 5000; address += 1) {
    for (let times = 0; times < 2; times += 1) refused.add({ address: `a${address}`, forwardedFor: undefined });
  }
  refused.flush();
  expect(lines).toHaveLength(1001);
  expect(lines.at(-1)).toEqual({ ...line, address: 'others', count: 8000 });
  expect(lines.reduce((sum, { count }) => sum + (count as number), 0)).toBe(10_000);
});

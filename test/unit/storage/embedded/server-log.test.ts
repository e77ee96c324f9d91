import { expect, test } from '@jest/globals';
import { isStartupProgress } from '../../../../src/storage/embedded/server-log.ts';

const at = '2026-11-26 23:43:21.386 UTC [12384]';

test.each([
  [true, 'syncing data directory (pre-fsync), elapsed time: 10.00 s, current path: ./base/16384/2831'],
  [true, 'syncing data directory (fsync), elapsed time: 20.01 s, current path: ./base/16384/16385'],
  [true, 'redo in progress, elapsed time: 10.00 s, current LSN: 0/27C9688'],
  [true, 'resetting unlogged relations (init), elapsed time: 10.00 s, current path: base/5'],
  [false, 'starting PostgreSQL 18.4 on x86_64-pc-linux-gnu'],
  [false, 'redo done at 0/A370A9F0 system usage: CPU: user: 7.05 s, system: 2.18 s, elapsed: 9.26 s'],
  [false, 'could not bind IPv4 address "127.0.0.1": Address already in use'],
])('progress of a start of Postgres (%p): %s', (progress, message) => {
  expect(isStartupProgress(`${at} LOG:  ${message}`)).toBe(progress);
});

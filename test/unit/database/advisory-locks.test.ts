import { expect, test } from '@jest/globals';
import { advisoryLocks } from '../../../src/database/advisory-locks.ts';

const { maintenance, ...withOneKey } = advisoryLocks;

test('no two locks have the same number', () => {
  const numbers = Object.values(withOneKey);
  expect(new Set(numbers).size).toBe(numbers.length);
});

test('every number is the one that earlier versions take', () => {
  expect(advisoryLocks).toEqual({
    createReadModel: 7_460_231_001, createLog: 7_460_231_002, createFirstTeam: 7_460_231_003, useReadModel: 7_460_231_004,
    verify: 7_460_231_005, changeKeys: 7_460_231_006, nameLog: 7_460_231_007, createNotes: 7_460_231_009, resumeLog: 7_460_231_010,
    replaceReadModel: 7_460_231_011, moveLog: 7_460_231_038, maintenance: 1_017_780_060, useServer: 0x7461626c6f67,
  });
});

test('the key of two fits into 32 bits', () => expect(maintenance).toBe(maintenance | 0));

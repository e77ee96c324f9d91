import { expect, test } from '@jest/globals';
import { advisoryLocks } from '../../../../src/storage/database/advisory-locks.ts';

const { maintenance, fillReadModel, usesReadModel, readLanguage, forgetGenerations, ...withOneKey } = advisoryLocks;
const withTwoKeys = [maintenance, fillReadModel, usesReadModel, readLanguage, forgetGenerations];

test('no two locks have the same number', () => {
  for (const numbers of [Object.values(withOneKey), withTwoKeys]) expect(new Set(numbers).size).toBe(numbers.length);
});

test('every number is the one that earlier versions use', () => {
  expect(advisoryLocks).toEqual({
    createReadModel: 7_460_231_001,
    createLog: 7_460_231_002,
    createFirstTeam: 7_460_231_003,
    useReadModel: 7_460_231_004,
    verify: 7_460_231_005,
    changeKeys: 7_460_231_006,
    nameLog: 7_460_231_007,
    createNotes: 7_460_231_009,
    resumeLog: 7_460_231_010,
    replaceReadModel: 7_460_231_011,
    moveLog: 7_460_231_038,
    agreeOnLanguage: 7_460_231_043,
    maintenance: 1_017_780_060,
    readLanguage: 1_017_780_061,
    fillReadModel: 1_017_780_062,
    usesReadModel: 1_017_780_063,
    forgetGenerations: 1_017_780_064,
    useServer: 0x7461626c6f67,
  });
});

test.each(withTwoKeys)('the key of two, %d, fits into 32 bits', (key) => expect(key).toBe(key | 0));

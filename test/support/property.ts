/**
 * Properties with random inputs (fast-check), each tried for as long as the run has time for it (test/scale.ts). Each says what it did
 * and with which seed; SEED does the same again.
 */
import { expect } from '@jest/globals';
import fc from 'fast-check';
import { scale } from '../scale.ts';

const given = process.env['SEED'];

/** For runs that must not be left in the middle when the time is over: as many as the property says. */
export const uncut = { interruptAfterTimeLimit: 2 ** 31 - 1 };

fc.configureGlobal({
  interruptAfterTimeLimit: scale.propertyMs,
  markInterruptAsFailure: false,
  ...(given === undefined ? {} : { seed: Number(given) }),
  reporter: (details) => {
    process.stderr.write(`SEED=${details.seed}: ${details.numRuns} runs: ${expect.getState().currentTestName}\n`);
    if (details.failed || details.numRuns === 0) throw new Error(fc.defaultReportMessage(details));
  },
});

export { fc };

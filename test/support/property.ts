/**
 * Property tests with random inputs (fast-check), each run until its time limit (test/scale.ts). Prints the number of
 * runs and the seed; SEED reproduces a run.
 */
import { expect } from '@jest/globals';
import * as fc from './fast-check.ts';

const given = process.env['SEED'];

/** Disables the time limit, so that `numRuns` decides. */
export const uncut = { timeLimit: Infinity };

fc.configureGlobal({
  ...(given === undefined ? {} : { seed: Number(given) }),
  reporter: (details) => {
    process.stderr.write(`SEED=${details.seed}: ${details.numRuns} runs: ${expect.getState().currentTestName}\n`);
    if (details.failed || details.numRuns === 0)
      throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance });
  },
});

export { fc };

/**
 * What a CI run says in the end: sums up the results of its commands, and of the files that were repeated because they
 * failed.
 */

/** A test, as Jest's `--json` has it. */
interface TestResult {
  readonly fullName: string;
  /** `passed`, `failed`, or why it did not run. */
  readonly status: string;
  readonly failureMessages: readonly string[];
}

/** A test file, as Jest's `--json` has it. If it failed outside of its tests, only `message` says why. */
export interface FileResult {
  /** The path. */
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly TestResult[];
}

/** A command that ran tests. */
export interface Run {
  readonly name: string;
  readonly exitCode: number;
  /** Null if the command ended before it had results. */
  readonly files: readonly FileResult[] | null;
}

export interface Verdict {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** A `FLAKY` or `FAILED` paragraph for each test that failed, or failed at first. */
  readonly report: readonly string[];
}

/** Only the beginning of a message is shown, in characters. */
const shownOfMessage = 1500;

/**
 * The files to repeat. None if more than `filesMax` failed: then something is broken that a repetition cannot excuse.
 */
export function filesToRepeat(
  runs: readonly Run[],
  filesMax: number,
): { readonly run: Run; readonly file: FileResult }[] {
  const failed = runs.flatMap((run) => (run.files ?? []).filter(hasFailed).map((file) => ({ run, file })));
  return failed.length > filesMax ? [] : failed;
}

/**
 * `repeated`: the results of files that ran once more, by their first result. A test counts as passed if it passed
 * either time.
 */
export function judge(runs: readonly Run[], repeated: ReadonlyMap<FileResult, FileResult>): Verdict {
  const tally = new Tally();
  for (const { name, exitCode, files } of runs) {
    if (files === null) tally.fail(name, `It ended with ${exitCode} and without results.`);
    else if (exitCode !== 0 && !files.some(hasFailed))
      tally.fail(name, `It ended with ${exitCode}, although no test failed.`);
    for (const file of files ?? []) count(file, repeated.get(file) ?? null, tally);
  }
  const { passed, failed, skipped, report } = tally;
  return { passed, failed, skipped, report };
}

class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;
  readonly report: string[] = [];

  fail(what: string, message: string): void {
    this.failed += 1;
    this.#tell('FAILED', what, message);
  }

  /** It counts as whatever it is besides. */
  noteFlaky(what: string, message: string): void {
    this.#tell('FLAKY', what, message);
  }

  #tell(kind: string, what: string, message: string): void {
    this.report.push(`${kind} ${what}\n${message.slice(0, shownOfMessage)}`);
  }
}

/** `again`: null if the file was not repeated. */
function count(first: FileResult, again: FileResult | null, tally: Tally): void {
  // A file that failed outside of its tests may have run none of them.
  const isOfTests = again === null || hasFailedTest(first);
  for (const test of (isOfTests ? first : again).assertionResults) {
    const what = `${first.name}: ${test.fullName}`;
    const failure = [test, ...(again === null ? [] : sameIn(again, test))].find(({ status }) => status === 'failed');
    const message = failure?.failureMessages.join('\n');
    if (
      test.status === 'passed' ||
      (test.status === 'failed' && isOfTests && again !== null && passesIn(again, test))
    ) {
      tally.passed += 1;
      if (message !== undefined) tally.noteFlaky(what, message);
    } else if (message !== undefined) tally.fail(what, message);
    else tally.skipped += 1;
  }
  const last = again ?? first;
  if (hasFailed(last) && !hasFailedTest(last)) tally.fail(first.name, last.message);
  else if (!isOfTests && !hasFailed(last)) tally.noteFlaky(first.name, first.message);
}

function hasFailed({ status }: FileResult): boolean {
  return status === 'failed';
}

function hasFailedTest({ assertionResults }: FileResult): boolean {
  return assertionResults.some(({ status }) => status === 'failed');
}

function passesIn(file: FileResult, test: TestResult): boolean {
  const same = sameIn(file, test);
  return same.length > 0 && same.every(({ status }) => status === 'passed');
}

/** Several tests of a file may have one name. */
function sameIn({ assertionResults }: FileResult, { fullName }: TestResult): readonly TestResult[] {
  return assertionResults.filter((test) => test.fullName === fullName);
}

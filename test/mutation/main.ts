/**
 * `npm run mutate -- [--mutants N] [--seed N] [--target NAME]... [--api]`: plants small changes into a copy of the
 * source, one at a time, and runs the tests that should notice them. Prints those that nothing noticed. Ends with 1 if
 * tests notice fewer than `killedAtLeast`.
 */
import { parseArgs } from 'node:util';
import { runToEnd } from '../../bench/run-to-end.ts';
import { Random } from '../support/random.ts';
import { measureSlowness } from '../support/time-limits.ts';
import { applyMutant, mutantsOf, type Mutant } from './mutants.ts';
import { findRelated, run, stepsFor, type TestStep } from './steps.ts';
import { targets, type MutationTarget } from './targets.ts';
import { Tree } from './tree.ts';

/**
 * The share that tests must notice. The others change nothing that anybody could see, or only how long something takes
 * (docs/explanation/reliability.md).
 */
const killedAtLeast = 0.75;

const survived = 'survived';

interface Choice {
  readonly target: MutationTarget;
  readonly file: string;
  readonly mutant: Mutant;
}

const { values } = parseArgs({
  options: {
    mutants: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
    target: { type: 'string', multiple: true, default: targets.map(({ name }) => name) },
    api: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
process.stderr.write(`SEED=${seed}\n`);
measureSlowness();

await runToEnd(async ({ folder, signal }) => {
  const tree = await Tree.copyTo(folder);
  const choices = choose(
    tree,
    targets.filter(({ name }) => values.target.includes(name)),
    Number(values.mutants),
    new Random(seed),
  );
  const related = new Map<string, string[]>();
  for (const { file } of choices) if (!related.has(file)) related.set(file, await findRelated(file, folder, signal));
  await expectPasses(choices, related, folder, signal);

  const results = new Map<string, number>();
  const survivors: string[] = [];
  for (const [at, { target, file, mutant }] of choices.entries()) {
    const source = tree.read(file);
    const place = `${file}:${mutant.line}: ${mutant.change}`;
    tree.write(file, applyMutant(source, mutant));
    const result = await meet(stepsFor(file, target, related.get(file)!, values.api), folder, signal);
    tree.write(file, source);
    results.set(result, (results.get(result) ?? 0) + 1);
    if (result === survived) survivors.push(place);
    process.stderr.write(`${at + 1}/${choices.length} ${result}: ${place}\n`);
  }
  report(choices.length, results, survivors);
});

/** Chooses mutants at random, as many of each file as of the others, as far as it has so many. */
function choose(tree: Tree, chosen: readonly MutationTarget[], count: number, random: Random): Choice[] {
  const left = chosen
    .flatMap((target) =>
      target.files.map((file) => mutantsOf(tree.read(file)).map((mutant) => ({ target, file, mutant }))),
    )
    .filter((ofFile) => ofFile.length > 0);
  const choices: Choice[] = [];
  while (choices.length < count && left.length > 0) {
    // A round: one mutant of each file, in random order, so that the last round is spread, too.
    const round = left.map((ofFile) => ({ ofFile, order: random.next() })).toSorted((a, b) => a.order - b.order);
    for (const { ofFile } of round) {
      if (choices.length === count) break;
      choices.push(...ofFile.splice(random.below(ofFile.length), 1));
    }
    for (const ofFile of left.filter(({ length }) => length === 0)) left.splice(left.indexOf(ofFile), 1);
  }
  return choices;
}

/** Without a mutant all tests must pass: else each mutant would count as noticed. */
async function expectPasses(
  choices: readonly Choice[],
  related: ReadonlyMap<string, readonly string[]>,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const all = choices.map(({ target }) => target);
  const merged = {
    isSimulated: all.some(({ isSimulated }) => isSimulated),
    api: [...new Set(all.flatMap(({ api }) => api))],
  };
  for (const step of stepsFor(null, merged, [...new Set([...related.values()].flat())], values.api)) {
    const { result, output } = await run(step, folder, signal);
    if (result !== 'passed') throw new Error(`without a mutant, ${step.name}: ${result}\n${output}`);
  }
}

/** What became of a mutant. */
async function meet(steps: readonly TestStep[], folder: string, signal: AbortSignal): Promise<string> {
  for (const step of steps) {
    const { result } = await run(step, folder, signal);
    if (result === 'timeout') return `killed by a time limit of ${step.name}`;
    if (result === 'failed') return `killed by ${step.name}`;
  }
  return survived;
}

function report(count: number, results: ReadonlyMap<string, number>, survivors: readonly string[]): void {
  for (const place of survivors) console.log(`survived: ${place}`);
  for (const [result, times] of results) console.log(`${String(times).padStart(5)} ${result}`);
  const killed = count - survivors.length;
  console.log(`${killed} of ${count} mutants were killed, from seed ${seed} on.`);
  if (killed < killedAtLeast * count) process.exitCode = 1;
}

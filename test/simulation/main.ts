/**
 * Simulates histories: `node test/simulation/main.ts [--histories N | --seconds N] [--seed N] [--fault NAME]`. Ends with 1 at the first
 * one that has a problem, and prints its seed.
 */
import { parseArgs } from 'node:util';
import { simulateTime } from './clock.ts';

const { hrtime } = process;
const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: 'Infinity' }, seconds: { type: 'string', default: 'Infinity' }, seed: { type: 'string' },
    fault: { type: 'string', multiple: true },
  },
});
const seconds = (): number => Number(hrtime.bigint()) / 1e9;
const began = seconds();
const first = Number(values.seed ?? Math.floor(began * 1000) % 1e9);

simulateTime();
const { simulate } = await import('./history.ts');

const counts = new Map<string, number>();
let calls = 0;
let count = 0;
process.stderr.write(`SEED=${first}\n`);
for (; count < Number(values.histories) && seconds() - began < Number(values.seconds); count += 1) {
  const simulated = await simulate(first + count, values.fault);
  const name = `${simulated.log}: ${simulated.fault}`;
  counts.set(name, (counts.get(name) ?? 0) + 1);
  calls += simulated.calls;
  if (simulated.problems.length > 0) {
    process.stdout.write(`The history of seed ${simulated.seed} (${name}) has problems:\n${simulated.problems.slice(0, 10).join('\n')}\n`);
    process.exit(1);
  }
}
for (const [name, number] of [...counts].toSorted()) process.stdout.write(`${String(number).padStart(8)}  ${name}\n`);
process.stdout.write(`${count} histories, ${calls} calls, ${Math.round(seconds() - began)} s, no problem\n`);
process.exit(0);

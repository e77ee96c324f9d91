/**
 * Time limits of tests follow the speed of the machine: they are written for a machine of speed 1, and multiplied by
 * the machine's slowness. Only a failing test uses a limit fully.
 */

/** How many units of work a machine of speed 1 does in `measuredMs`. */
const unitsExpected = 1000;
const measuredMs = 100;
const slownessMax = 6;

const variable = 'TABLOG_TEST_SLOWNESS';

const work = Array.from({ length: 200 }, (_, n) => ({
  id: (n * 7919) % 1000,
  name: `name ${n}`,
  values: [n, n / 3, null, true],
}));

/**
 * Measures the slowness of this machine, from 1 to 6, for all processes that this one starts. If TABLOG_TEST_SLOWNESS
 * is set, it is kept.
 */
export function measureSlowness(): void {
  if (process.env[variable] !== undefined) return;
  const endsAt = performance.now() + measuredMs;
  let units = 0;
  for (; performance.now() < endsAt; units += 1)
    (JSON.parse(JSON.stringify(work)) as typeof work).sort((a, b) => a.id - b.id);
  process.env[variable] = String(slownessOf(units));
}

export function slownessOf(units: number): number {
  return Math.min(slownessMax, Math.max(1, Math.round((10 * unitsExpected) / units) / 10));
}

/** A limit on this machine, in milliseconds. `ms`: the limit on a machine of speed 1. */
export function limitMs(ms: number): number {
  return Math.round(ms * Number(process.env[variable] ?? 1));
}

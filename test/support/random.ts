import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** The seed of this run: SEED, or one from the clock. Printed, so that a failure can be reproduced. */
export function chooseSeed(): number {
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 32);
  process.stderr.write(`SEED=${seed}\n`);
  return seed;
}

/** Random numbers, reproducible from a seed. Different seeds give independent sequences: the period is 2^128. */
export class Random {
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed);
  }

  /** From 0 inclusive to 1 exclusive. */
  next(): number {
    return (this.#generator.next() >>> 0) / 2 ** 32;
  }

  /** An integer from 0 (inclusive) to `end` (exclusive). */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** A number from `from` (inclusive) to `end` (exclusive). */
  between(from: number, end: number): number {
    return from + this.next() * (end - from);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(things: readonly T[]): T {
    return things[this.below(things.length)]!;
  }

  /** One of the choices, with a probability proportional to its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, thing: T])[]): T {
    let left = this.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    return choices.find(([weight]) => (left -= weight) < 0)![1];
  }

  uuid(): string {
    const hex = Array.from({ length: 4 }, () =>
      this.below(2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    ).join('');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}

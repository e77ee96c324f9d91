/** The command line options of the benchmarks. */
import { parseArgs } from 'node:util';

/** An option. `read` is called for the default too. */
interface Option<Value> {
  readonly type: 'string' | 'boolean';
  readonly default?: string | boolean;
  /** Throws an Error that names the accepted values. */
  readonly read: (given: string | boolean | undefined, name: string) => Value;
}

/** The values of options, by their names. */
export type OptionsOf<Options> = {
  readonly [Name in keyof Options]: Options[Name] extends Option<infer Value> ? Value : never;
};

/** Reads the command line of this process. Throws an Error if it is wrong. */
export function readOptions<Options extends Readonly<Record<string, Option<unknown>>>>(
  options: Options,
): OptionsOf<Options> {
  const values: Readonly<Record<string, string | boolean | undefined>> = parseArgs({ options }).values;
  return Object.fromEntries(
    Object.entries(options).map(([name, { read }]) => [name, read(values[name], name)]),
  ) as OptionsOf<Options>;
}

/** A whole number of at least `min`. */
export function wholeNumber(
  preset: number,
  { min = 1, multipleOf = 1 }: { readonly min?: number; readonly multipleOf?: number } = {},
): Option<number> {
  return {
    type: 'string',
    default: String(preset),
    read: (given, name) => {
      const value = Number(given);
      if (!/^\d+$/.test(String(given)) || !Number.isSafeInteger(value) || value < min)
        throw new Error(`--${name} takes a whole number of at least ${min}`);
      if (value % multipleOf !== 0) throw new Error(`--${name} takes a multiple of ${multipleOf}`);
      return value;
    },
  };
}

export function positiveNumber(preset: number): Option<number> {
  return {
    type: 'string',
    default: String(preset),
    read: (given, name) => {
      const value = Number(given);
      if (!(value > 0)) throw new Error(`--${name} takes a number above 0`);
      return value;
    },
  };
}

export function oneOf<const Value extends string>(preset: Value, ...others: readonly Value[]): Option<Value> {
  const all = [preset, ...others];
  return {
    type: 'string',
    default: preset,
    read: (given, name) => {
      const value = all.find((candidate) => candidate === given);
      if (value === undefined) throw new Error(`--${name} takes ${all.join(' or ')}`);
      return value;
    },
  };
}

/** Names of these things, separated by commas. The default is all of them. */
export function namesOf<Thing extends { readonly name: string }>(things: readonly Thing[]): Option<readonly Thing[]> {
  const all = things.map(({ name }) => name);
  return {
    type: 'string',
    default: all.join(','),
    read: (given, name) =>
      String(given)
        .split(',')
        .map((chosen) => {
          const thing = things[all.indexOf(chosen)];
          if (thing === undefined) throw new Error(`--${name} takes some of these names: ${all.join(', ')}`);
          return thing;
        }),
  };
}

/** True if the option is given. */
export const flag: Option<boolean> = { type: 'boolean', default: false, read: Boolean };

/** A path; undefined if the option is not given. */
export const path: Option<string | undefined> = {
  type: 'string',
  read: (given) => (given === undefined ? undefined : String(given)),
};

/** The place of the service's log. */
export type LogKind = 'postgres' | 'kafka';

export const logKind: Option<LogKind> = oneOf('postgres', 'kafka');

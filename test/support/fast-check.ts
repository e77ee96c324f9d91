/** fast-check, with properties that end at a time limit. */
import {
  assert as assertWhole,
  PreconditionFailure,
  type IAsyncProperty,
  type IProperty,
  type IRawProperty,
  type Parameters,
} from 'fast-check';
import { scale } from '../scale.ts';

// Everything except `assert`, which is replaced below.
export * from 'fast-check';

interface TimedParameters<Ts> extends Parameters<Ts> {
  /** In milliseconds; by default the limit of properties (test/scale.ts). Infinity: `numRuns` decides. */
  readonly timeLimit?: number;
}

/** How many runs must succeed in any case, however slow the machine is. */
const runsMin = 10;

/**
 * As fast-check's own, except that no run begins after the time limit once some have succeeded. fast-check's
 * `interruptAfterTimeLimit` fails on a machine that pauses during the first run, and lets an asynchronous run continue
 * during the next test.
 */
export function assert<Ts>(property: IAsyncProperty<Ts>, parameters?: TimedParameters<Ts>): Promise<void>;
export function assert<Ts>(property: IProperty<Ts>, parameters?: TimedParameters<Ts>): void;
export function assert<Ts>(
  property: IAsyncProperty<Ts> | IProperty<Ts>,
  { timeLimit = scale.propertyMs, ...rest }: TimedParameters<Ts> = {},
): Promise<void> | void {
  const limited = limitedTo(timeLimit, property);
  return limited.isAsync()
    ? assertWhole(limited as IAsyncProperty<Ts>, rest)
    : assertWhole(limited as IProperty<Ts>, rest);
}

type Result = Awaited<ReturnType<IRawProperty<unknown>['run']>>;

function limitedTo<Ts>(timeLimit: number, property: IRawProperty<Ts>): IRawProperty<Ts> {
  const end = performance.now() + timeLimit;
  let succeeded = 0;
  const noted = (result: Result): Result => {
    if (result === null) succeeded += 1;
    return result;
  };
  const run = (value: Ts): Result | Promise<Result> => {
    const result =
      succeeded >= runsMin && performance.now() >= end ? new PreconditionFailure(true) : property.run(value);
    return result instanceof Promise ? result.then(noted) : noted(result);
  };
  return Object.assign(Object.create(property) as IRawProperty<Ts>, { run });
}

/** Options that the benchmarks share. Each reader throws an Error that says which values the option takes. */

/** The place of the service's log. */
export type LogKind = 'postgres' | 'kafka';

export function readLogKind(text: string): LogKind {
  if (text === 'postgres' || text === 'kafka') return text;
  throw new Error('--log takes postgres or kafka');
}

export function readWholeNumber(option: string, text: string, min: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value;
  throw new Error(`${option} takes a whole number of at least ${min}`);
}

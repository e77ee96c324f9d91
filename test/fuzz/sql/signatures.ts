/** The functions that SQL may use, with the signatures that DuckDB itself gives them. */
import { DuckDBInstance } from '@duckdb/node-api';
import { functions, lambdaFunctions, sqlOperators } from '../../../src/api/query/sql/functions.ts';

export interface Signature {
  readonly name: string;
  readonly kind: 'scalar' | 'aggregate';
  /** The types of the parameters, as DuckDB names them: `VARCHAR`, `T[]`, `ANY`. */
  readonly parameters: readonly string[];
  /** The type of any number of further arguments; null: there are none. */
  readonly further: string | null;
}

/** A row of `duckdb_functions()`. Macros have names of parameters, and no types. */
interface FoundRow {
  readonly name: string;
  readonly type: string;
  readonly parameters: string | null;
  readonly count: string | number | null;
  readonly further: string | null;
}

/** Operators that stand before their only operand. */
const prefixes: ReadonlySet<string> = new Set(['+', '-', '~', '@']);

/** The names that DuckDB gives no signature, because its parser or binder writes them in another way. */
const written: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    nullif: ['ANY', 'ANY'],
    wavg: ['DOUBLE', 'DOUBLE'],
    weighted_avg: ['DOUBLE', 'DOUBLE'],
    fmod: ['DOUBLE', 'DOUBLE'],
    row: ['ANY', 'ANY'],
    error: ['VARCHAR'],
  }),
);

/** Each signature of each allowed function and operator, grouped by name, in an order that stays the same. */
export async function readSignatures(): Promise<ReadonlyMap<string, readonly Signature[]>> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(`
      SELECT DISTINCT function_name AS name, function_type AS type, to_json(parameter_types)::VARCHAR AS parameters,
      len(parameters) AS count, varargs AS further
      FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro') ORDER BY ALL`);
    const found = (reader.getRowObjectsJson() as unknown as readonly FoundRow[]).map((row): Signature => {
      const types = JSON.parse(row.parameters ?? '[]') as readonly (string | null)[];
      return {
        name: row.name,
        kind: row.type === 'aggregate' ? 'aggregate' : 'scalar',
        parameters: Array.from(
          { length: Math.max(types.length, Number(row.count ?? 0)) },
          (_, at) => types[at] ?? 'ANY',
        ),
        further: row.further,
      };
    });
    return new Map([...functions, ...sqlOperators].map((name) => [name, signaturesOf(name, found)]));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function signaturesOf(name: string, found: readonly Signature[]): readonly Signature[] {
  const own = found.filter(
    (signature) =>
      signature.name === name &&
      (!sqlOperators.has(name) ||
        signature.parameters.length === 2 ||
        (signature.parameters.length === 1 && prefixes.has(name))),
  );
  if (own.length > 0) return own;
  const scalar = (parameters: readonly string[]): Signature => ({ name, kind: 'scalar', parameters, further: null });
  if (lambdaFunctions.has(name)) return [scalar(['T[]', 'LAMBDA'])];
  return written.has(name) ? [scalar(written.get(name)!)] : [[], ['ANY'], ['ANY', 'ANY']].map(scalar);
}

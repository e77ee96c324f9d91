/** Random SQL with one function at its centre. */
import { sqlOperators } from '../../../src/api/query/sql/functions.ts';
import type { Random } from '../../support/random.ts';
import type { Signature } from './signatures.ts';
import { valueOf } from './values.ts';

/** Names of casts that a query may say. */
const types = [
  'VARCHAR',
  'BIGINT',
  'INTEGER',
  'DOUBLE',
  'DECIMAL(38, 10)',
  'HUGEINT',
  'BLOB',
  'JSON',
  'VARCHAR[]',
  'INTEGER[3]',
  'DATE',
  'TIMESTAMP',
  'TIMESTAMP WITH TIME ZONE',
  'INTERVAL',
  'UUID',
  'BOOLEAN',
  'STRUCT(a INTEGER)',
  'MAP(VARCHAR, BIGINT)',
];

/** Functions that stand in a window only. */
const windows: ReadonlySet<string> = new Set([
  'cume_dist',
  'dense_rank',
  'first_value',
  'lag',
  'last_value',
  'lead',
  'nth_value',
  'ntile',
  'percent_rank',
  'rank',
  'rank_dense',
  'row_number',
]);

const windowTexts = [
  'OVER ()',
  'OVER (ORDER BY n)',
  'OVER (PARTITION BY yes ORDER BY s DESC ROWS BETWEEN 2000000000 PRECEDING AND CURRENT ROW)',
  'OVER (ORDER BY n RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)',
];
/** Few rows: what adds up over many rows has no bound but that of the process (docs/decisions/0047). */
const sources = ['t', 't', 't', 't, range(100)'];

export class SqlGenerator {
  readonly #random: Random;
  readonly #signatures: ReadonlyMap<string, readonly Signature[]>;

  constructor(random: Random, signatures: ReadonlyMap<string, readonly Signature[]>) {
    this.#random = random;
    this.#signatures = signatures;
  }

  /** A SELECT that calls a function or an operator. */
  select(name: string): string {
    const random = this.#random;
    const signature = random.pick(this.#signatures.get(name)!);
    if (windows.has(name)) return `SELECT ${this.#call(signature, 0)} ${random.pick(windowTexts)} AS v FROM t`;
    if (signature.kind === 'aggregate') return this.#aggregate(signature);
    const call = this.#call(signature, 0);
    return random.weighted<string>([
      [10, `SELECT ${call} AS v FROM t`],
      [2, `SELECT ${call}::VARCHAR AS v FROM t`],
      [2, `SELECT TRY_CAST(${call} AS ${random.pick(types)}) AS v FROM t`],
      [1, `SELECT count(*) AS c FROM t WHERE ${call} IS NOT NULL`],
      [1, `SELECT count(*) FILTER (${call} IS NOT NULL) AS c FROM ${random.pick(sources)}`],
      [1, `SELECT count(*) AS c FROM t GROUP BY ${call}`],
      [1, `SELECT s FROM t ORDER BY ${call}`],
      [1, `SELECT max(${call}) AS v FROM ${random.pick(sources)}`],
      [1, `SELECT TRY(${call}) AS v`],
    ]);
  }

  #aggregate(signature: Signature): string {
    const random = this.#random;
    const ordered = random.chance(0.15) ? ' ORDER BY long' : '';
    const call = this.#call(signature, 0)
      .replace(/\)$/, `${ordered})`)
      .replace('(', random.chance(0.15) ? '(DISTINCT ' : '(');
    const after = random.weighted<string>([
      [6, ''],
      [2, ' FILTER (n >= 0)'],
      [2, ` ${random.pick(windowTexts)}`],
    ]);
    return `SELECT ${call}${after} AS v FROM ${random.pick(sources)}${after === '' && random.chance(0.2) ? ' GROUP BY s' : ''}`;
  }

  #call({ name, parameters, further }: Signature, depth: number): string {
    const more = further === null ? 0 : this.#random.below(4);
    const values = [...parameters, ...Array.from({ length: more }, () => further!)].map((type) =>
      this.#argument(type, depth),
    );
    if (!sqlOperators.has(name)) return `${name}(${values.join(', ')})`;
    return values.length === 1 ? `(${name} ${values[0]})` : `(${values[0]} ${name} ${values[1] ?? 'NULL'})`;
  }

  /** A hostile value, or now and then the result of another function. */
  #argument(type: string, depth: number): string {
    const random = this.#random;
    if (type === 'LAMBDA' || depth >= 2 || !random.chance(0.15)) return valueOf(random, type);
    const inner = random.pick(random.pick([...this.#signatures.values()]));
    if (inner.kind === 'aggregate' || windows.has(inner.name)) return valueOf(random, type);
    const call = this.#call(inner, depth + 1);
    return type === 'VARCHAR' || type === 'BIGINT' || type === 'DOUBLE' ? `TRY_CAST(${call} AS ${type})` : call;
  }
}

/** Digests of sets of rows. Postgres computes them in one pass, and the order of rows does not matter. */

/** The number of the rows, and the sums of the quarters of their SHA-256. */
export interface Sum {
  readonly sum: string;
}

/** SQL: the column `sum` of the rows of `hashed`. */
export const sum = `concat_ws(' ', count(*), ${[1, 9, 17, 25].map((from) => `sum(('x' || encode(substr(row_hash, ${from}, 8), 'hex'))::bit(64)::int8)`).join(', ')}) as sum`;

/** SQL: the rows of a query, with the column `row_hash`. */
export function hashed(query: string): string {
  return `select compared.*, sha256(convert_to((compared.*)::text, 'UTF8')) as row_hash from (${query}) compared`;
}

/** The sum of two sets that share no row. */
export function addSums(a: string, b: string): string {
  const others = b.split(' ');
  return a
    .split(' ')
    .map((number, at) => BigInt(number) + BigInt(others[at]!))
    .join(' ');
}

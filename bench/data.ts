/**
 * The rows of the benchmarks: ten columns, about 300 bytes a row, the same in every run.
 */

/** How many rows go into a table with one request. */
export const rowsPerRequest = 1_000;

/** A source of numbers in [0, 1). */
export type Random = () => number;

/** The generator `mulberry32`: the same seed gives the same numbers on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An integer from 0 to `bound` - 1. */
export function below(random: Random, bound: number): number {
  return Math.floor(random() * bound);
}

/** The schema of the rows (spec section 2). */
export const customerSchema = {
  columns: [
    { id: 'name', type: 'string' },
    { id: 'email', type: 'emailAddress' },
    { id: 'company', type: 'string' },
    { id: 'website', type: 'uri' },
    { id: 'signedUp', type: 'date' },
    { id: 'seats', type: 'number' },
    { id: 'balance', type: 'number' },
    { id: 'active', type: 'boolean' },
    { id: 'newsletter', type: 'boolean' },
    { id: 'notes', type: 'string' },
  ],
} as const;

export type Row = Record<(typeof customerSchema.columns)[number]['id'], string | number | boolean>;

const givenNames = ['Ada', 'Bruno', 'Chioma', 'Dmitri', 'Élise', 'Farid', 'Grete', 'Hiroshi', 'Inés', 'Jörg'];
const familyNames = ['Abe', 'Bianchi', 'Costa', 'Dubois', 'Eriksen', 'Fischer', 'García', 'Haddad', 'Ivanova'];
const trades = ['Logistics', 'Foods', 'Textiles', 'Energy', 'Analytics', 'Shipping', 'Robotics', 'Publishing'];
const words = [
  'asked',
  'for',
  'a',
  'quote',
  'on',
  'the',
  'annual',
  'plan',
  'and',
  'wants',
  'an',
  'invoice',
  'by',
  'post',
  'before',
  'renewal',
  'of',
  'contract',
  'with',
  'two',
  'more',
  'regions',
  'next',
  'quarter',
];

/** The next random row. */
export function makeRow(random: Random): Row {
  const pick = (list: readonly string[]): string => list[below(random, list.length)]!;
  const family = pick(familyNames);
  const number = below(random, 1_000_000);
  const domain = `${pick(trades).toLowerCase()}-${number}.example.com`;
  const day = new Date(Date.UTC(2015, 0, 1 + below(random, 3650))).toISOString().slice(0, 10);
  return {
    name: `${pick(givenNames)} ${family}`,
    email: `contact.${number}@${domain}`,
    company: `${family} ${pick(trades)} Ltd`,
    website: `https://www.${domain}/about`,
    signedUp: day,
    seats: below(random, 5_000),
    balance: below(random, 10_000_000) / 100,
    active: random() < 0.8,
    newsletter: random() < 0.3,
    notes: Array.from({ length: 10 + below(random, 8) }, () => pick(words)).join(' '),
  };
}

/** The next `count` random rows. */
export function makeRows(random: Random, count: number): Row[] {
  return Array.from({ length: count }, () => makeRow(random));
}

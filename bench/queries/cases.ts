/** The questions of the benchmark, for the service and in SQL. */
import { below, type Random, type Row } from '../data.ts';
import { sqlNames } from './data.ts';

/** One question. */
export interface Question {
  /** The body of `POST /tables/{tableID}/query`. */
  readonly body: object;
  /** The same question as SQL statements on a table. The first one gives the rows of the answer. */
  readonly sql: (table: string) => readonly Statement[];
}

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface QueryCase {
  readonly label: string;
  /** The goal for the service's speed with the large table, as a multiple of the yardstick's. */
  readonly goal?: number;
  /** The next random question; `row` is a row of the table. */
  readonly question: (random: Random, row: Row) => Question;
}

const page = 100;

export const cases: readonly QueryCase[] = [
  {
    label: 'group by a text, with count and sum',
    goal: 5,
    question: () => ({
      body: { groupBy: ['company'], aggregate: [{ op: 'count' }, { op: 'sum', column: 'balance' }], sort: ['company'] },
      sql: (table) => [
        {
          text: `select company, count(*)::int as count, sum(balance) as sum_balance from ${table} group by company order by company collate "C"`,
          values: [],
        },
      ],
    }),
  },
  {
    label: 'a filter on two columns, with count',
    goal: 2,
    question: (random) => {
      const least = 50_000 + below(random, 40_000);
      return {
        body: {
          filter: {
            and: [
              { column: 'balance', op: 'gte', value: least },
              { column: 'active', op: 'eq', value: true },
            ],
          },
          count: 'exact',
          limit: page,
        },
        sql: (table) => [
          {
            text: `select ${sqlNames} from ${table} where balance >= $1 and active order by n limit ${page}`,
            values: [least],
          },
          { text: `select count(*)::int from ${table} where balance >= $1 and active`, values: [least] },
        ],
      };
    },
  },
  {
    label: `the top ${page} by a number`,
    goal: 2,
    question: (random) => {
      const column = below(random, 2) === 0 ? 'balance' : 'seats';
      return {
        body: { sort: [`-${column}`], limit: page },
        sql: (table) => [
          { text: `select ${sqlNames} from ${table} order by ${column} desc, n limit ${page}`, values: [] },
        ],
      };
    },
  },
  {
    label: `the first ${page} by name with a phrase in their notes`,
    question: (_random, { notes }) => {
      const phrase = String(notes).split(' ').slice(0, 2).join(' ');
      return {
        body: { filter: { column: 'notes', op: 'contains', value: phrase }, sort: ['name'], limit: page },
        sql: (table) => [
          {
            text: `select ${sqlNames} from ${table} where strpos(notes, $1) > 0 order by name collate "C", n limit ${page}`,
            values: [phrase],
          },
        ],
      };
    },
  },
  {
    label: 'one e-mail address',
    question: (_random, { email }) => ({
      body: { filter: { column: 'email', op: 'eq', value: email } },
      sql: (table) => [{ text: `select ${sqlNames} from ${table} where email = $1 order by n`, values: [email] }],
    }),
  },
];

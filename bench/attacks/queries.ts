/** Attacks with pages and groups of wide tables. */
import { caller, head, withBody, type Target } from '../requests.ts';
import type { Attack } from './attack.ts';

const manyColumns = 1000;
const fewColumns = 10;

export const continuations: Attack = {
  name: 'continuations',
  what: 'five teams ask for the first page of a sorted table of 1,000 columns, and never for the second',
  insteadOf: 'five teams read a sorted table of 10 columns page by page',
  teams: 5,
  async prepare(teams, isHarmful) {
    const columns = isHarmful ? manyColumns : fewColumns;
    const pages = await Promise.all(
      teams.map(async (team) => ({ team, path: `${await createWideTable(team, columns, 50)}/rows?limit=10` })),
    );
    return async (run) => {
      await Promise.all(
        pages.map(({ team, path }) => {
          let count = 0;
          return run.repeat(team, 2, (last) => {
            count += 1;
            const continuation =
              isHarmful || last?.status !== 200
                ? undefined
                : (JSON.parse(last.body.toString()) as { continuation?: string }).continuation;
            const page = continuation === undefined ? `sort=-c${count % columns}` : `continuation=${continuation}`;
            return Buffer.from(`${head(team, 'GET', `${path}&${page}`)}\r\n`);
          });
        }),
      );
    };
  },
};

export const wideGroups: Attack = {
  name: 'wide-groups',
  what: 'a table of 1,000 columns is patched and grouped in turn, over 8 connections',
  insteadOf: 'a table of 10 columns is patched and grouped in turn, over 8 connections',
  teams: 1,
  async prepare([target], isHarmful) {
    const columns = isHarmful ? manyColumns : fewColumns;
    const path = await createWideTable(target, columns, 1);
    const {
      data: [row],
    } = (await (
      await fetch(`http://127.0.0.1:${target.ports[0]}${path}/rows`, {
        headers: { authorization: `Bearer ${target.token}` },
      })
    ).json()) as { readonly data: readonly [{ readonly $rowID: string }] };
    let count = 0;
    return (run) =>
      run.repeat(target, 8, () => {
        count += 1;
        const column = `c${count % columns}`;
        return count % 2 === 0
          ? withBody(
              head(target, 'PATCH', `${path}/rows/${row.$rowID}`),
              Buffer.from(JSON.stringify({ [column]: count })),
            )
          : withBody(
              head(target, 'POST', `${path}/query`),
              Buffer.from(JSON.stringify({ groupBy: [column], aggregate: [{ op: 'count' }] })),
            );
      });
  },
};

/** Creates a table of number columns `c0`, `c1` and so on; resolves to its path. */
async function createWideTable(target: Target, columns: number, rows: number): Promise<string> {
  const cells = Array.from({ length: rows }, (_row, row) =>
    Object.fromEntries(Array.from({ length: columns }, (_column, column) => [`c${column}`, row + column])),
  );
  const { tableID } = await caller(target)(
    'POST',
    '/tables',
    JSON.stringify({ name: 'wide', rows: cells }),
    'application/json',
  );
  return `/tables/${tableID}`;
}

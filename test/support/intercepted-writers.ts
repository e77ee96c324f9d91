/** A database whose writers a test intercepts: it sees each of their statements. */
import type { Database } from '../../src/storage/database/database.ts';
import type { PipelinedClient, Statement, StatementResult } from '../../src/storage/database/pipelined-client.ts';

type Answer = Promise<StatementResult>;

/** `intercept` is called for each statement of the writers, and returns its answer; `send` sends it. */
export function interceptWriters(
  database: Database,
  intercept: (statement: Statement, send: () => Answer) => Answer,
): Database {
  const writers: Pick<Database['writers'], 'with'> = {
    with: (use) =>
      database.writers.with((client) => {
        const query = (statement: Statement, values?: readonly unknown[]): Answer =>
          intercept(statement, () => client.query(statement, values));
        return use(replacing<PipelinedClient>(client, { query }));
      }),
  };
  return replacing<Database>(database, { writers });
}

/** The object, with these properties instead of its own. */
function replacing<T extends object>(object: T, others: { readonly [Key in keyof T]?: unknown }): T {
  return new Proxy(object, {
    get(target, key) {
      if (Object.hasOwn(others, key)) return others[key as keyof T];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

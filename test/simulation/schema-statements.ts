/**
 * What statements do in the model of Postgres that concern read models as a whole, the place of the log, locks of
 * sessions, and triggers.
 */
import { logSchema } from '../../src/log/postgres/log-tables.ts';
import { readModelLock, type Handler, type Values } from './handler.ts';
import { keepInSession } from './locks.ts';
import { emptyReadModel } from './stored-rows.ts';
import { postgresError, type Row, type View } from './view.ts';

interface Known {
  readonly pattern: RegExp;
  readonly usesReadModel?: true;
  /** `parts`: the groups of the pattern. */
  readonly locks?: (parts: readonly string[], values: Values, readModel: string) => readonly string[];
  readonly inSession?: Handler['inSession'];
  readonly run?: (view: View, parts: readonly string[], values: Values) => readonly Row[];
}

/**
 * The table of a trigger, as the model calls it, and the read model that it belongs to: that of the session unless it
 * is named.
 */
function triggers(view: View, table: string): [View, string] {
  if (table === `${logSchema}.records`) return [view, 'triggers of records'];
  const [schema, name] = table.includes('.') ? (table.split('.') as [string, string]) : [null, table];
  return [schema === null ? view : view.in(schema), `triggers of ${name}`];
}

function lockOfTable(table: string, readModel: string): string {
  if (table === `${logSchema}.records`) return 'records';
  return table.includes('.') ? `progress of ${table.split('.')[0]}` : `progress of ${readModel}`;
}

function milliseconds(value: string): string {
  const [, number, unit] = /^'?(\w+?)(s?)'?$/.exec(value)!;
  return unit === 's' ? `${number}000` : number!;
}

function advisory(values: Values): string {
  return `advisory ${values.join(' ')}`;
}

/**
 * How a read model that takes over, and a log that is closed, void all epochs, and whether a trigger refuses what it
 * should. Bugs are planted here.
 */
export const guards = {
  refuse: true,
  epoch: (view: View, epoch: unknown): bigint =>
    (epoch as bigint) + 1n + BigInt(Math.floor(view.server.random.next() * 2 ** 40)),
};

const nothing = (): readonly Row[] => [];

const known: readonly Known[] = [
  {
    pattern: /^select (?:1 )?from pg_namespace where nspname = \$1$/,
    run: (view, _, [name]) => (name === logSchema || view.server.readModels.has(name) ? [{}] : []),
  },
  { pattern: /^select to_regclass\('\w+\.records'\)/, run: () => [{ records: 'there' }] },
  { pattern: /^select to_regclass\('\w+\.place'\)/, run: () => [{ there: true }] },
  {
    pattern: /^select current_schema\(\)::regnamespace::oid as id$/,
    usesReadModel: true,
    run: (view) => [{ id: view.oid }],
  },
  {
    pattern: /^select tablename as name from pg_tables/,
    run: (view, _, [name]) => (view.server.readModels.has(name) ? [{ name: 'progress' }] : []),
  },
  { pattern: /^select exists \(select from \(select pid/, run: () => [{ used: false }] },
  {
    pattern: /^create schema (\w+)$/,
    run: (view, [name]) => {
      view.changeSchemas((readModels) => readModels.set(name!, emptyReadModel()));
      return [];
    },
  },
  { pattern: /^create (?:or replace function|table if not exists)/, run: nothing },
  { pattern: /^-- Made from the entities/, run: nothing },
  { pattern: /^insert into progress \(partition, next, epoch, base, time\) select n/, run: nothing },
  { pattern: /^drop table if exists (\w+)\./, locks: ([name]) => [readModelLock(name!)], run: nothing },
  {
    pattern: /^drop schema if exists (\w+) cascade$/,
    locks: ([name]) => [readModelLock(name!)],
    run: (view, [name]) => {
      view.changeSchemas((readModels) => readModels.delete(name!));
      return [];
    },
  },
  {
    pattern: /^alter schema (\w+) rename to (\w+)$/,
    run: (view, [from, to]) => {
      view.changeSchemas((readModels) => {
        if (readModels.has(to!)) throw postgresError('42P06');
        readModels.set(to!, readModels.get(from!)!);
        readModels.delete(from!);
      });
      return [];
    },
  },
  // Nothing vacuums here.
  { pattern: /^lock table \w+\..* in share update exclusive mode$/, run: nothing },
  {
    pattern: /^lock table (\w+)\..* in access exclusive mode$/,
    locks: ([name]) => [readModelLock(name!)],
    run: nothing,
  },
  {
    pattern: /^lock table (progress) in share row exclusive mode$/,
    usesReadModel: true,
    locks: ([table], _, readModel) => [lockOfTable(table!, readModel)],
    run: nothing,
  },
  {
    pattern: /^create or replace trigger \w+ before (?:insert|update of epoch, contradicted) on ([\w.]+) /,
    locks: ([table], _, readModel) => [lockOfTable(table!, readModel)],
    run: (view, [table]) => {
      const [on, name] = triggers(view, table!);
      if (guards.refuse) on.put(name, '', {});
      return [];
    },
  },
  { pattern: /^alter table [\w.]+ (?:enable trigger|add column)/, run: nothing },
  {
    pattern: /^alter table ([\w.]+) disable trigger/,
    locks: ([table], _, readModel) => [lockOfTable(table!, readModel)],
    run: (view, [table]) => {
      const [on, name] = triggers(view, table!);
      on.put(name, '', null);
      return [];
    },
  },
  {
    pattern: /^select from pg_trigger/,
    run: (view, _, [table]) => {
      const [on, name] = triggers(view, table);
      return on.get(name, '') === null ? [] : [{}];
    },
  },
  { pattern: /^select set_config\('deadlock_timeout'/, run: nothing },
  {
    pattern: /^set local ([\w.]+) = (.+)$/,
    run: (view, [name, value]) => {
      view.settings.set(name!, milliseconds(value!));
      return [];
    },
  },
  { pattern: /^select pg_advisory_xact_lock\(/, locks: (_, values) => [advisory(values)], run: nothing },
  {
    pattern: /^select pg_advisory_lock\(/,
    locks: (_, values) => [advisory(values)],
    inSession: (session, values) => keepInSession(advisory(values), session),
  },
  {
    pattern: /^select pg_try_advisory_lock\(/,
    inSession: (session, values) => [
      { taken: session.server.locks.tryTake({ name: advisory(values), isShared: false }, session) },
    ],
  },
  {
    pattern: /^select pg_advisory_unlock_all\(\)$/,
    inSession: (session) => session.server.locks.release(session.sessionLocks, session),
  },
  {
    pattern: /^select next, base \+ next as version, contradicted from (\w+)\.progress/,
    run: (view, [schema]) =>
      inOrder(view.in(schema!)).map(({ next, base, contradicted }) => ({
        next,
        version: (base as bigint) + (next as bigint),
        contradicted,
      })),
  },
  {
    pattern: /^update (\w+)\.progress rebuilt set epoch = old\.epoch \+ 1 \+ floor[\s\S]* from (\w+)\.progress old /,
    run: (view, [rebuilt, old]) =>
      inOrder(view.in(old!)).flatMap(({ partition, epoch, caughtUp }) => {
        return update(view.in(rebuilt!), partition, { epoch: guards.epoch(view, epoch), caughtUp });
      }),
  },
  {
    pattern: /^update (\w+)\.progress old set epoch = rebuilt\.epoch from (\w+)\.progress rebuilt/,
    run: (view, [old, rebuilt]) =>
      inOrder(view.in(rebuilt!)).flatMap(({ partition, epoch }) => update(view.in(old!), partition, { epoch })),
  },
  {
    pattern: /^update progress set epoch = epoch \+ 1 \+ floor.*, halted = \$1, contradicted = true$/,
    usesReadModel: true,
    run: (view, _, [halted]) =>
      inOrder(view).flatMap(({ partition, epoch }) => {
        return update(view, partition, { epoch: guards.epoch(view, epoch), halted, contradicted: true });
      }),
  },
  {
    pattern: /^update progress set halted = null, contradicted = false where halted = \$1$/,
    usesReadModel: true,
    run: (view, _, [reason]) =>
      inOrder(view)
        .filter(({ halted }) => halted === reason)
        .flatMap(({ partition }) => update(view, partition, { halted: null, contradicted: false })),
  },
  { pattern: /^select log from \w+\.place$/, run: (view) => view.all('place') },
  {
    pattern: /^select coalesce\(to_jsonb\(place\) ->> 'moves', '0'\) as moves from \w+\.place$/,
    run: (view) => view.all('place'),
  },
  {
    pattern: /^insert into \w+\.place \(log\) values \(\$1\) on conflict do nothing$/,
    run: (view, _, [log]) => {
      if (view.get('place', '') === null) view.put('place', '', { log, moves: '0' });
      return [];
    },
  },
  {
    pattern: /^insert into \w+\.place \(log, moves\) values \(\$1, 1\) on conflict \(singleton\) do update/,
    run: (view, _, [log]) => {
      view.put('place', '', { log, moves: String(Number(view.get('place', '')?.['moves'] ?? 0) + 1) });
      return [];
    },
  },
  // Nothing here is old enough.
  { pattern: /^delete from outcomes using \(/, run: nothing },
];

function inOrder(view: View): Row[] {
  return view.all('progress').toSorted((a, b) => Number(a['partition']) - Number(b['partition']));
}

function update(view: View, partition: unknown, set: Row): Row[] {
  const row = { ...view.get('progress', String(partition)), ...set };
  view.put('progress', String(partition), row);
  return [row];
}

/** Null for other statements. */
export function schemaStatement(text: string): Omit<Handler, 'parameters'> | null {
  for (const { pattern, usesReadModel = false, locks = () => [], run = nothing, inSession } of known) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const parts = found.slice(1);
    return {
      usesReadModel,
      locks: (values, readModel) => locks(parts, values, readModel),
      run: (view, values) => run(view, parts, values),
      ...(inSession && { inSession }),
    };
  }
  return null;
}

/** The effects of statements on whole read models, on tables as such, and on sessions. */
import { logSchema } from '../../src/log/postgres/log-tables.ts';
import { nothing, onNamed, onReadModel, readModelLock, type Handlers, type Values } from './handler.ts';
import { keepInSession } from './locks.ts';
import { emptyReadModel } from './stored-rows.ts';
import { postgresError, type TableRow, type View } from './view.ts';

/** The schema and the name of a table. The tables of the log belong to each read model, so they need no schema. */
function nameOf(table: string, readModel: string): readonly [schema: string, name: string] {
  if (table === `${logSchema}.records`) return [readModel, 'records'];
  return table.includes('.') ? (table.split('.') as [string, string]) : [readModel, table];
}

/** The lock on a table. Its writers hold it, shared. */
function lockOfTable(table: string, readModel: string): string {
  const [schema, name] = nameOf(table, readModel);
  return name === 'records' ? name : `${name} of ${schema}`;
}

/** Creates or drops the trigger that refuses writes to a table. */
function setTrigger(view: View, table: string, trigger: TableRow | null): readonly TableRow[] {
  const [schema, name] = nameOf(table, view.name);
  view.in(schema).put(`triggers of ${name}`, '', trigger);
  return [];
}

const milliseconds = (value: string): string =>
  value.replace(/^'?(\w+?)(s?)'?$/, (_, number, unit) => (unit === 's' ? `${number}000` : number));

const advisory = (values: Values): string => `advisory ${values.join(' ')}`;

/** Whether triggers refuse writes. Bugs are planted here. */
export const triggers = { refuse: true };

export const schemaStatements: Handlers = {
  'select 1 from pg_namespace where nspname = $1': onNamed(selectSchema),
  'select from pg_namespace where nspname = $1': onNamed(selectSchema),
  'select current_schema()::regnamespace::oid as id': onReadModel((view) => [{ id: view.oid }]),
  'select tablename as name from pg_tables': onNamed((view, [name]) =>
    view.server.readModels.has(name) ? [{ name: 'progress' }] : [],
  ),
  'select exists (select from (select pid': onNamed(() => [{ used: false }]),
  'create schema {}': onNamed((view, _, [, name]) => {
    view.changeSchemas((readModels) => readModels.set(name!, emptyReadModel()));
    return [];
  }),
  'drop schema if exists {} cascade': {
    usesReadModel: false,
    locks: (_, [, name]) => [readModelLock(name!)],
    run: (view, _, [, name]) => {
      view.changeSchemas((readModels) => readModels.delete(name!));
      return [];
    },
  },
  'alter schema {} rename to {}': onNamed((view, _, [, from, to]) => {
    view.changeSchemas((readModels) => {
      if (readModels.has(to!)) throw postgresError('42P06');
      readModels.set(to!, readModels.get(from!)!);
      readModels.delete(from!);
    });
    return [];
  }),

  // The tables of a new read model exist at once.
  '-- Made from the entities': nothing,
  'create table if not exists': nothing,
  'insert into progress (partition, next, epoch, base, time) select n': nothing,
  'drop table if exists {}.': { ...nothing, locks: (_, [, name]) => [readModelLock(name!)] },
  'alter table {} add column': nothing,

  // Nothing vacuums here.
  'lock table {}.{}... in share update exclusive mode': nothing,
  'lock table {}.{}... in access exclusive mode': { ...nothing, locks: (_, [, name]) => [readModelLock(name!)] },
  'lock table progress in share row exclusive mode': {
    usesReadModel: true,
    locks: (_, __, readModel) => [lockOfTable('progress', readModel)],
    run: () => [],
  },

  // The triggers on the progress and on the records, which refuse writes while the log is elsewhere.
  'create or replace function': nothing,
  'create or replace trigger {} before...on {} ': {
    usesReadModel: false,
    locks: (_, [, , table], readModel) => [lockOfTable(table!, readModel)],
    run: (view, _, [, , table]) => (triggers.refuse ? setTrigger(view, table!, {}) : []),
  },
  'alter table {} enable trigger': nothing,
  'alter table {} disable trigger': {
    usesReadModel: false,
    locks: (_, [, table], readModel) => [lockOfTable(table!, readModel)],
    run: (view, _, [, table]) => setTrigger(view, table!, null),
  },
  'select from pg_trigger': onNamed((view, [table]) => {
    const [schema, name] = nameOf(table, view.name);
    return view.in(schema).get(`triggers of ${name}`, '') === null ? [] : [{}];
  }),

  "select set_config('deadlock_timeout'": nothing,
  'set local {} = {}': onNamed((view, _, [, name, value]) => {
    view.settings.set(name!, milliseconds(value!));
    return [];
  }),
  'select pg_advisory_xact_lock(': { ...nothing, locks: (values) => [advisory(values)] },
  'select pg_advisory_lock(': {
    ...nothing,
    locks: (values) => [advisory(values)],
    inSession: (session, values) => keepInSession(advisory(values), session),
  },
  'select pg_try_advisory_lock(': {
    ...nothing,
    inSession: (session, values) => [
      { taken: session.server.locks.tryTake({ name: advisory(values), isShared: false }, session) },
    ],
  },
  'select pg_advisory_unlock_all()': {
    ...nothing,
    inSession: (session) => session.server.locks.release(session.sessionLocks, session),
  },
  'next_local_keys': onNamed(({ server }, [count]) =>
    Array.from({ length: count }, () => {
      const first = server.localKeys;
      server.localKeys += 1000n;
      return { first };
    }),
  ),
  'end_backend': onNamed(({ server }, [id]) => {
    const ended = [...server.sessions].find((session) => session.id === id);
    ended?.end();
    return ended ? [{ ended: true }] : [];
  }),
};

function selectSchema(view: View, [name]: Values): readonly TableRow[] {
  return name === logSchema || view.server.readModels.has(name) ? [{}] : [];
}

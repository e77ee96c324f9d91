/** What each statement does in the model of Postgres: those of the engine and of the log. */
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import { hashOf } from '../../src/log/identity.ts';
import { logSchema } from '../../src/log/postgres/log-tables.ts';
import { allPartitions } from '../../src/log/partition.ts';
import type { Handler, Values } from './handler.ts';
import { modelStatements } from './model-statements.ts';
import { schemaStatement } from './schema-statements.ts';
import { partitions } from './partitions.ts';
import { generatedWrite, keyOf } from './stored-rows.ts';
import { postgresError, type Row, type View } from './view.ts';

type Run = Handler['run'];

/** The locks on a row of the heads, and on one of the progress of a read model. */
const headLock = (partition: unknown): string => `head ${String(partition)}`;
const progressLock = (partition: unknown, readModel: string): string => `progress ${String(partition)} of ${readModel}`;

/** The locks on the tables of the records, and of the progress of a read model, which all have that write to them. */
export const writesRecords = 'shared records';
export const writesProgress = (readModel: string): string => `shared progress of ${readModel}`;

const locksHead: Handler['locks'] = ([partition]) => [headLock(partition)];
const locksProgress: Handler['locks'] = ([partition], readModel) => [
  writesProgress(readModel),
  progressLock(partition, readModel),
];

function progress(view: View, partition: unknown): Row {
  return view.get('progress', String(partition))!;
}

/** Changes the progress of a partition if that stands as `when` says. */
function change(view: View, partition: unknown, when: (row: Row) => boolean, set: (row: Row) => Row): Row[] {
  const before = progress(view, partition);
  if (!when(before)) return [];
  const row = { ...before, ...set(before) };
  if (row['epoch'] !== before['epoch'] || (row['contradicted'] === true && before['contradicted'] === false))
    refuseIfClosed(view, 'progress', 'tablog.epochs');
  view.put('progress', String(partition), row);
  return [row];
}

/** Throws as a trigger on the table does, unless there is none, or the setting lets the transaction through. */
function refuseIfClosed(view: View, table: string, setting: string): void {
  if (view.get(`triggers of ${table}`, '') !== null && view.settings.get(setting) !== 'on')
    throw postgresError('TL001');
}

/** All rows of the progress, or of the heads, in the order of partitions. */
function inOrder(view: View, table: string): Row[] {
  return view.all(table).toSorted((a, b) => Number(a['partition']) - Number(b['partition']));
}

function moveHead(view: View, partition: unknown, next: bigint, time: number): Row[] {
  const head = { partition: Number(partition), next, time };
  view.put('heads', String(partition), head);
  return [head];
}

function putRecord(view: View, partition: unknown, offset: bigint, time: number, bytes: Uint8Array): void {
  refuseIfClosed(view, 'records', 'tablog.copies');
  const key = `${String(partition)} ${offset}`;
  if (view.get('records', key) !== null) throw postgresError('23505', 'records_pkey');
  view.put('records', key, { offset, time, bytes });
}

const timelineOf = ({ server: { timeline } }: View): string => timeline.toString(16).padStart(8, '0');

/** Statements that lock the head of a partition or its progress, by name. Bugs are planted here. */
export const changing: Record<string, Run> = {
  advance_progress: (view, [partition, first, next, time, lastHash, logId, epoch, layout, hashBefore]) =>
    change(
      view,
      partition,
      (row) =>
        row['next'] === first &&
        row['epoch'] === epoch &&
        row['layout'] === (layout ?? row['layout']) &&
        row['halted'] === null &&
        (hashBefore === null || Buffer.compare(row['lastHash'] as Uint8Array, hashBefore) === 0),
      (row) => ({ next, time, lastHash, logId: logId ?? row['logId'] }),
    ),
  lock_progress: (view, [partition]) => [{ next: progress(view, partition)['next'], table: view.oid }],
  begin_quarantine: (view, [partition, offset, time, lastHash, epoch, teamId, reason]) =>
    change(
      view,
      partition,
      (row) => row['next'] === offset && row['epoch'] === epoch && row['halted'] === null,
      (row) => ({
        next: offset + 1n,
        time,
        lastHash,
        layout: (row['layout'] as bigint) + 1n,
        held: heldTeams(row, (held) => ({ ...held, [teamId]: Number(time) })),
      }),
    ).map(({ base, gaps }) => {
      view.put('quarantines', `${partition} ${teamId}`, {
        partition,
        teamId,
        failedOffset: offset,
        reason,
        since: time,
        next: offset,
        time,
        base,
        gaps,
      });
      return { next: offset };
    }),
  end_quarantine: (view, [partition, teamId]) => {
    view.put('quarantines', `${partition} ${teamId}`, null);
    return change(
      view,
      partition,
      () => true,
      (row) => {
        return {
          layout: (row['layout'] as bigint) + 1n,
          held: heldTeams(row, ({ [teamId as string]: _, ...others }) => others),
        };
      },
    );
  },
  store_versions: (view, [partition, base, gaps]) =>
    change(
      view,
      partition,
      () => true,
      () => ({ base, gaps }),
    ),
  move_head: (view, [partition, first, next, time]) => {
    const head = view.get('heads', String(partition))!;
    return head['next'] === first && Number(head['time']) <= time ? moveHead(view, partition, next, time) : [];
  },
  lock_head: (view, [partition]) => {
    const head = view.get('heads', String(partition))!;
    return [
      {
        ...head,
        time: BigInt(Number(head['time'])),
        serverTime: BigInt(view.server.time),
        projected: progress(view, partition)['next'],
        layout: progress(view, partition)['layout'],
      },
    ];
  },
};

function heldTeams({ held }: Row, change: (held: Record<string, number>) => object): string {
  return JSON.stringify(change(JSON.parse(held as string)));
}

/** Which statements write records, and which use no table of a read model, by name. */
const addsRecords: ReadonlySet<string> = new Set(['insert_record', 'insert_records', 'insert_copies']);
const ofLog: ReadonlySet<string> = new Set([
  ...addsRecords,
  'move_head',
  'select_hashes',
  'select_records',
  'select_end',
  'next_local_keys',
  'notify_progress',
  'end_backend',
]);

/** Which of them lock the head. */
const onHeads: ReadonlySet<string> = new Set(['move_head', 'lock_head']);

/** Other statements of the engine and of the log, by name. Bugs are planted here. */
export const others: Record<string, Run> = {
  insert_record: (view, [partition, offset, time, bytes]) => {
    putRecord(view, partition, offset, time, bytes);
    return [];
  },
  insert_records: (view, [partition, offset, time, all, firsts, lengths]) => {
    (firsts as number[]).forEach((first, at) => {
      putRecord(
        view,
        partition,
        offset + BigInt(at),
        time,
        (all as Buffer).subarray(first - 1, first - 1 + lengths[at]),
      );
    });
    return [];
  },
  insert_copies: (view, [partition, offset, all, times, firsts, lengths]) => {
    (firsts as number[]).forEach((first, at) => {
      putRecord(
        view,
        partition,
        offset + BigInt(at),
        times[at],
        (all as Buffer).subarray(first - 1, first - 1 + lengths[at]),
      );
    });
    return [];
  },
  select_hashes: (view, [partition, offsets]) =>
    (offsets as bigint[]).flatMap((offset) => {
      const record = view.get('records', `${partition} ${offset}`);
      return record === null ? [] : [{ offset, hash: hashOf({ bytes: record['bytes'] as Uint8Array }) }];
    }),
  select_records: (view, [partition, from, to, limit]) => {
    const rows: Row[] = [];
    for (let offset = BigInt(from); offset < BigInt(to) && rows.length < limit; offset += 1n) {
      const record = view.get('records', `${partition} ${offset}`);
      if (record === null) break;
      rows.push({ log_offset: offset, time: record['time'], bytes: record['bytes'] });
    }
    return rows;
  },
  select_end: (view, [partition]) => [view.get('heads', String(partition))!],
  select_heads: (view) =>
    inOrder(view, 'heads').map(({ partition, next }) => {
      const { next: projected, base, held } = progress(view, partition);
      return {
        next,
        projected,
        held,
        version: (base as bigint) + (next as bigint),
        serverTime: BigInt(view.server.time),
      };
    }),
  read_progress: (view) => inOrder(view, 'progress').map((row) => ({ ...row, serverTime: BigInt(view.server.time) })),
  read_progress_of: (view, [partition]) => [progress(view, partition)],
  select_quarantine: (view, [partition, teamId]) =>
    [view.get('quarantines', `${partition} ${teamId}`)].filter((row) => row !== null),
  fail_quarantine: (view, [partition, teamId, offset, reason]) =>
    changeQuarantine(view, [partition, teamId], ({ next }) =>
      next === offset ? { failedOffset: offset, reason } : {},
    ),
  move_quarantine: (view, [partition, teamId, next, time, base, gaps]) =>
    changeQuarantine(view, [partition, teamId], () => ({ next, time, base, gaps })),
  select_position: (view, [partition]) => [progress(view, partition)],
  select_outcomes: (view, [partition, commandIds]) => outcomes(view, partition, commandIds),
  select_progress_and_outcomes: (view, [partition, commandIds]) => {
    const { next, held } = progress(view, partition);
    const found = outcomes(view, partition, commandIds);
    return found.length === 0 ? [{ next, held, commandId: null }] : found.map((row) => ({ ...row, next, held }));
  },
  next_local_keys: ({ server }, [count]) =>
    Array.from({ length: count }, () => {
      const first = server.localKeys;
      server.localKeys += 1000n;
      return { first };
    }),
  notify_progress: (view, [channel, payloads]) =>
    payloads.map((payload: string) => {
      view.notify(channel, payload);
      return {};
    }),
  end_backend: ({ server }, [id]) => {
    const ended = [...server.sessions].find((session) => session.id === id);
    ended?.end();
    return ended ? [{ ended: true }] : [];
  },
};

function changeQuarantine(view: View, [partition, teamId]: Values, change: (row: Row) => Row): Row[] {
  const before = view.get('quarantines', `${partition} ${teamId}`);
  if (before !== null) view.put('quarantines', `${partition} ${teamId}`, { ...before, ...change(before) });
  return [];
}

function nextEpoch(view: View, { epoch }: Row): bigint {
  return (epoch as bigint) + 2n + BigInt(Math.floor(view.server.random.next() * 2 ** 40));
}

function outcomes(view: View, partition: unknown, commandIds: readonly string[]): Row[] {
  const found = commandIds.map((commandId) => view.get('outcomes', keyOf('outcomes', { partition, commandId })));
  return found.filter((row) => row !== null);
}

/** Statements without a name, by how they begin: which locks they take, and what they do. */
const unnamed: readonly (readonly [start: string, locks: Handler['locks'], run: Run])[] = [
  [
    'update progress set halted = case when contradicted then halted end',
    locksProgress,
    (view, [partition]) =>
      change(
        view,
        partition,
        () => true,
        (row) => {
          return { epoch: nextEpoch(view, row) | 1n, halted: row['contradicted'] ? row['halted'] : null };
        },
      ),
  ],
  [
    'update progress set epoch = ',
    locksProgress,
    (view, [partition, seen]) => {
      return change(
        view,
        partition,
        ({ epoch }) => (epoch as bigint) <= BigInt(seen),
        (row) => ({ epoch: nextEpoch(view, row) & -2n }),
      );
    },
  ],
  [
    'update progress set halted = $2, contradicted = true',
    locksProgress,
    (view, [partition, halted]) => {
      return change(
        view,
        partition,
        ({ contradicted }) => contradicted === false,
        () => ({ halted, contradicted: true }),
      );
    },
  ],
  [
    'update progress set halted = null, contradicted = false',
    ([partitions], readModel) => [
      writesProgress(readModel),
      ...(partitions as number[]).map((partition) => progressLock(partition, readModel)),
    ],
    (view, [partitions]) => {
      return (partitions as number[]).flatMap((partition) => {
        return change(
          view,
          partition,
          ({ contradicted }) => contradicted === true,
          () => ({ halted: null, contradicted: false }),
        );
      });
    },
  ],
  [
    'update progress set halted = case when contradicted then halted else $3',
    locksProgress,
    (view, [partition, epoch, halted]) => {
      return change(
        view,
        partition,
        (row) => row['epoch'] === BigInt(epoch),
        (row) => ({ halted: row['contradicted'] ? row['halted'] : halted }),
      );
    },
  ],
  [
    'update progress set failed_at = next',
    locksProgress,
    (view, [partition, offset, failure]) => {
      return change(
        view,
        partition,
        ({ next }) => next === BigInt(offset),
        () => ({ failedAt: BigInt(offset), failure }),
      );
    },
  ],
  [
    'select partition, failure from progress',
    () => [],
    (view) => inOrder(view, 'progress').filter(({ failedAt, next }) => failedAt === next),
  ],
  [
    'update progress set caught_up = true',
    locksProgress,
    (view, [partition, epoch]) => {
      return change(
        view,
        partition,
        (row) => row['epoch'] === BigInt(epoch),
        () => ({ caughtUp: true }),
      );
    },
  ],
  [
    'select partition, team_id as "teamId"',
    () => [],
    (view, [teamId]) => view.all('quarantines').filter((row) => teamId === undefined || row['teamId'] === teamId),
  ],
  [
    'select partition, next, (extract',
    () => allPartitions(partitions).map(headLock),
    (view) => inOrder(view, 'heads').map((head) => ({ ...head, time: view.server.time })),
  ],
  [
    'with moved as',
    (values, readModel) => [writesRecords, ...locksHead(values, readModel)],
    (view, [partition, bytes]) => {
      const { next, time } = view.get('heads', String(partition)) as { next: bigint; time: number };
      const now = Math.max(time, view.server.time);
      putRecord(view, partition, next, now, bytes);
      return moveHead(view, partition, next + 1n, now);
    },
  ],
  [`select name from ${logSchema}.history`, () => [], (view) => view.all('history')],
  [
    `insert into ${logSchema}.history`,
    () => [],
    (view, [name]) => {
      view.put('history', '', { name });
      return [];
    },
  ],
  [
    'select case when not pg_is_in_recovery',
    () => [],
    (view) => [{ history: `1 ${timelineOf(view)}`, started: String(view.server.starts) }],
  ],
];

const handlers = new WeakMap<Statement, Handler>();
const handlersOfTexts = new Map<string, Handler>();

/** Throws for a statement that the model does not know. */
export function handlerOf(statement: Statement): Handler {
  const known = handlers.get(statement) ?? handlersOfTexts.get(statement.text);
  if (known) return known;
  const parameters = Math.max(0, ...[...statement.text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const handler = { parameters, ...findHandler(statement) };
  handlers.set(statement, handler);
  handlersOfTexts.set(statement.text, handler);
  return handler;
}

function findHandler(statement: Statement): Omit<Handler, 'parameters'> {
  const { name, text } = statement;
  const usesReadModel = !ofLog.has(name);
  const changes = changing[name];
  if (changes) return { usesReadModel, locks: onHeads.has(name) ? locksHead : locksProgress, run: changes };
  const start = text.trimStart();
  const ofSchema = name === '' ? schemaStatement(start) : null;
  if (ofSchema !== null) return ofSchema;
  const run = others[name] ?? modelStatements(statement) ?? generatedWrite(statement);
  if (run) return { usesReadModel, locks: () => (addsRecords.has(name) ? [writesRecords] : []), run };
  const found = unnamed.find(([begin]) => start.startsWith(begin));
  if (!found) throw new Error(`the model of Postgres does not know: ${name} ${text}`);
  return {
    usesReadModel: !start.includes(logSchema) && !start.startsWith('select case'),
    locks: found[1],
    run: found[2],
  };
}

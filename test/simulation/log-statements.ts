/** The effects of statements on the log in Postgres: on its heads, records and history, and on the place of the log. */
import { hashOf } from '../../src/log/identity.ts';
import { logSchema } from '../../src/log/postgres/log-tables.ts';
import { allPartitions } from '../../src/log/partition.ts';
import { inOrder, onNamed, onReadModel, refuseIfClosed, type Handler, type Handlers, type Effect } from './handler.ts';
import { partitions } from './partitions.ts';
import { progressOf } from './progress-statements.ts';
import { postgresError, type TableRow, type View } from './view.ts';

interface Head extends TableRow {
  readonly next: bigint;
  readonly time: number;
}

/** The lock on a partition's row in the heads, and a shared lock on the table of the records. */
const lockOfHead = (partition: unknown): string => `head ${String(partition)}`;
const writesRecords = 'shared records';

const headOf = (view: View, partition: unknown): Head => view.get('heads', String(partition)) as Head;

function moveHead(view: View, partition: unknown, next: bigint, time: number): TableRow[] {
  const head = { partition: Number(partition), next, time };
  view.put('heads', String(partition), head);
  return [head];
}

function putRecord(view: View, partition: unknown, offset: bigint, time: number, bytes: Uint8Array): void {
  refuseIfClosed(view, 'records', 'tablog.copies');
  if (recordAt(view, partition, offset) !== null) throw postgresError('23505', 'records_pkey');
  view.put('records', `${String(partition)} ${offset}`, { log_offset: offset, time, bytes });
}

const recordAt = (view: View, partition: unknown, offset: bigint): TableRow | null =>
  view.get('records', `${String(partition)} ${offset}`);

const inserting = (run: (...args: Parameters<Effect>) => void): Handler => ({
  usesReadModel: false,
  locks: () => [writesRecords],
  run: (...args) => {
    run(...args);
    return [];
  },
});

/** Inserts records that were sent in one text. `timeOf` returns the time of the record at this place. */
function putRecords(
  view: View,
  [partition, offset, bytes, firsts, lengths]: readonly [unknown, bigint, Buffer, readonly number[], readonly number[]],
  timeOf: (place: number) => number,
): void {
  for (const [place, first] of firsts.entries())
    putRecord(
      view,
      partition,
      offset + BigInt(place),
      timeOf(place),
      bytes.subarray(first - 1, first - 1 + lengths[place]!),
    );
}

export const logStatements: Handlers = {
  'lock_head': {
    usesReadModel: true,
    locks: ([partition]) => [lockOfHead(partition)],
    run: (view, [partition]) => {
      const { next: projected, layout } = progressOf(view, partition);
      const { time, ...head } = headOf(view, partition);
      return [{ ...head, time: BigInt(time), serverTime: BigInt(view.server.time), projected, layout }];
    },
  },
  'move_head': {
    usesReadModel: false,
    locks: ([partition]) => [lockOfHead(partition)],
    run: (view, [partition, first, next, time]) => {
      const head = headOf(view, partition);
      return head.next === first && head.time <= time ? moveHead(view, partition, next, time) : [];
    },
  },
  'select_end': onNamed((view, [partition]) => [headOf(view, partition)]),
  'select_heads': onReadModel((view) =>
    (inOrder(view, 'heads') as Head[]).map(({ partition, next }) => {
      const { next: projected, base, held } = progressOf(view, partition);
      return { next, projected, held, version: base + next, serverTime: BigInt(view.server.time) };
    }),
  ),
  // Locks all heads.
  'select partition, next, (extract': {
    usesReadModel: false,
    locks: () => allPartitions(partitions).map(lockOfHead),
    run: (view) => inOrder(view, 'heads').map((head) => ({ ...head, time: view.server.time })),
  },
  // Appends a record at the head.
  'with moved as': {
    usesReadModel: false,
    locks: ([partition]) => [writesRecords, lockOfHead(partition)],
    run: (view, [partition, bytes]) => {
      const { next, time } = headOf(view, partition);
      const now = Math.max(time, view.server.time);
      putRecord(view, partition, next, now, bytes);
      return moveHead(view, partition, next + 1n, now);
    },
  },
  'insert_record': inserting((view, [partition, offset, time, bytes]) =>
    putRecord(view, partition, offset, time, bytes),
  ),
  'insert_records': inserting((view, [partition, offset, time, bytes, firsts, lengths]) =>
    putRecords(view, [partition, offset, bytes, firsts, lengths], () => time),
  ),
  'insert_copies': inserting((view, [partition, offset, bytes, times, firsts, lengths]) =>
    putRecords(view, [partition, offset, bytes, firsts, lengths], (place) => times[place]),
  ),
  'select_hashes': onNamed((view, [partition, offsets]) =>
    (offsets as bigint[]).flatMap((offset) => {
      const record = recordAt(view, partition, offset);
      return record === null ? [] : [{ offset, hash: hashOf({ bytes: record['bytes'] as Uint8Array }) }];
    }),
  ),
  'select_records': onNamed((view, [partition, from, to, limit]) => {
    const rows: TableRow[] = [];
    for (let offset = BigInt(from); offset < BigInt(to) && rows.length < limit; offset += 1n) {
      const record = recordAt(view, partition, offset);
      if (record === null) break;
      rows.push(record);
    }
    return rows;
  }),
  'notify_progress': onNamed((view, [channel, payloads]) =>
    payloads.map((payload: string) => {
      view.notify(channel, payload);
      return {};
    }),
  ),

  [`select name from ${logSchema}.history`]: onNamed((view) => view.all('history')),
  [`insert into ${logSchema}.history`]: onNamed((view, [name]) => {
    view.put('history', '', { name });
    return [];
  }),
  'select case when not pg_is_in_recovery': onNamed(({ server }) => {
    return [{ history: `1 ${server.timeline.toString(16).padStart(8, '0')}`, started: String(server.starts) }];
  }),

  [`select to_regclass('${logSchema}.records')`]: onNamed(() => [{ records: 'there' }]),
  [`select to_regclass('${logSchema}.place')`]: onNamed(() => [{ there: true }]),
  [`select log from ${logSchema}.place`]: onNamed((view) => view.all('place')),
  "select coalesce(to_jsonb(place) ->> 'moves', '0') as moves": onNamed((view) => view.all('place')),
  [`insert into ${logSchema}.place (log) values ($1) on conflict do nothing`]: onNamed((view, [log]) => {
    if (view.get('place', '') === null) view.put('place', '', { log, moves: '0' });
    return [];
  }),
  [`insert into ${logSchema}.place (log, moves)`]: onNamed((view, [log]) => {
    view.put('place', '', { log, moves: String(Number(view.get('place', '')?.['moves'] ?? 0) + 1) });
    return [];
  }),
};

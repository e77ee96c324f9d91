/** The effects of statements on the progress of read models, on quarantines and on outcomes. */
import {
  inOrder,
  nothing,
  onNamed,
  onReadModel,
  refuseIfClosed,
  type Handler,
  type Handlers,
  type Values,
} from './handler.ts';
import { keyOf, type ProgressRow } from './stored-rows.ts';
import type { TableRow, View } from './view.ts';

/** The locks on the rows of partitions, and a shared lock on the table: `lock table progress` waits for writers. */
const locksOf = (partitions: readonly unknown[], readModel: string): readonly string[] => [
  `shared progress of ${readModel}`,
  ...partitions.map((partition) => `progress ${String(partition)} of ${readModel}`),
];
const locksFirst: NonNullable<Handler['locks']> = ([partition], _, readModel) => locksOf([partition], readModel);

export function progressOf(view: View, partition: unknown): ProgressRow {
  return view.get('progress', String(partition)) as ProgressRow;
}

/** `set` returns null if the condition of the statement does not hold. Returns the changed rows. */
function change(view: View, partition: unknown, set: (row: ProgressRow) => Partial<ProgressRow> | null): ProgressRow[] {
  const before = progressOf(view, partition);
  const changes = set(before);
  if (changes === null) return [];
  const row = { ...before, ...changes };
  if (row.epoch !== before.epoch || (row.contradicted && !before.contradicted))
    refuseIfClosed(view, 'progress', 'tablog.epochs');
  view.put('progress', String(partition), row);
  return [row];
}

/** Changes the progress of the partition that the first value names. */
function updating(set: (row: ProgressRow, values: Values, view: View) => Partial<ProgressRow> | null): Handler {
  return {
    usesReadModel: true,
    locks: locksFirst,
    run: (view, values) => change(view, values[0], (row) => set(row, values, view)),
  };
}

/** How a takeover by a read model, and the closing of a log, void all epochs. Bugs are planted here. */
export const voided = { epoch: (view: View, epoch: bigint): bigint => epoch + 1n + random(view) };

const random = (view: View): bigint => BigInt(Math.floor(view.server.random.next() * 2 ** 40));

function heldTeams({ held }: ProgressRow, change: (held: Record<string, number>) => object): string {
  return JSON.stringify(change(JSON.parse(held)));
}

function changeQuarantine(view: View, [partition, teamId]: Values, change: (row: TableRow) => TableRow): TableRow[] {
  const before = view.get('quarantines', `${partition} ${teamId}`);
  if (before !== null) view.put('quarantines', `${partition} ${teamId}`, { ...before, ...change(before) });
  return [];
}

function outcomes(view: View, partition: unknown, commandIds: readonly string[]): TableRow[] {
  const found = commandIds.map((commandId) => view.get('outcomes', keyOf('outcomes', { partition, commandId })));
  return found.filter((row) => row !== null);
}

const serverTime = (view: View): bigint => BigInt(view.server.time);

export const progressStatements: Handlers = {
  'read_progress': onReadModel((view) =>
    inOrder(view, 'progress').map((row) => ({ ...row, serverTime: serverTime(view) })),
  ),
  'read_progress_of': onReadModel((view, [partition]) => [progressOf(view, partition)]),
  'select_position': onReadModel((view, [partition]) => [progressOf(view, partition)]),
  'select next, base + next as version, contradicted from {}.progress': onNamed((view, _, [, schema]) =>
    (inOrder(view.in(schema!), 'progress') as ProgressRow[]).map(({ next, base, contradicted }) => {
      return { next, version: base + next, contradicted };
    }),
  ),
  'select partition, failure from progress': onReadModel((view) =>
    inOrder(view, 'progress').filter(({ failedAt, next }) => failedAt === next),
  ),
  'lock_progress': {
    usesReadModel: true,
    locks: locksFirst,
    run: (view, [partition]) => [{ next: progressOf(view, partition).next, table: view.oid }],
  },
  'advance_progress': updating((row, [, first, next, time, lastHash, logId, epoch, layout, hashBefore]) =>
    row.next === first &&
    row.epoch === epoch &&
    row.layout === (layout ?? row.layout) &&
    row.halted === null &&
    (hashBefore === null || Buffer.compare(row.lastHash!, hashBefore) === 0)
      ? { next, time, lastHash, logId: logId ?? row.logId }
      : null,
  ),
  'store_versions': updating((_, [, base, gaps]) => ({ base, gaps })),
  // Takes a partition over.
  'update progress set halted = case when contradicted then halted end': updating((row, _, view) => {
    return { epoch: (row.epoch + 2n + random(view)) | 1n, halted: row.contradicted ? row.halted : null };
  }),
  // Fences a partition off.
  'update progress set epoch = (': updating(({ epoch }, [, seen], view) =>
    epoch <= BigInt(seen) ? { epoch: (epoch + 2n + random(view)) & -2n } : null,
  ),
  'update progress set halted = $2, contradicted = true': updating(({ contradicted }, [, halted]) =>
    contradicted ? null : { halted, contradicted: true },
  ),
  'update progress set halted = null, contradicted = false where partition = any($1)': {
    usesReadModel: true,
    locks: ([partitions], _, readModel) => locksOf(partitions, readModel),
    run: (view, [partitions]) =>
      (partitions as number[]).flatMap((partition) =>
        change(view, partition, ({ contradicted }) => (contradicted ? { halted: null, contradicted: false } : null)),
      ),
  },
  'update progress set halted = case when contradicted then halted else $3': updating((row, [, epoch, halted]) =>
    row.epoch === BigInt(epoch) ? { halted: row.contradicted ? row.halted : halted } : null,
  ),
  'update progress set failed_at = next': updating(({ next }, [, offset, failure]) =>
    next === BigInt(offset) ? { failedAt: next, failure } : null,
  ),
  'update progress set caught_up = true': updating((row, [, epoch]) =>
    row.epoch === BigInt(epoch) ? { caughtUp: true } : null,
  ),

  // Statements that void all epochs have locked the whole table.
  'update progress set epoch = epoch + 1': onReadModel((view, [halted]) =>
    inOrder(view, 'progress').flatMap(({ partition }) =>
      change(view, partition, ({ epoch }) => ({ epoch: voided.epoch(view, epoch), halted, contradicted: true })),
    ),
  ),
  'update progress set halted = null, contradicted = false where halted = $1': onReadModel((view, [reason]) =>
    inOrder(view, 'progress').flatMap(({ partition }) =>
      change(view, partition, ({ halted }) => (halted === reason ? { halted: null, contradicted: false } : null)),
    ),
  ),
  'update {}.progress rebuilt set epoch = old.epoch + 1...from {}.progress old ': onNamed((view, _, [, rebuilt, old]) =>
    (inOrder(view.in(old!), 'progress') as ProgressRow[]).flatMap(({ partition, epoch, caughtUp }) =>
      change(view.in(rebuilt!), partition, () => ({ epoch: voided.epoch(view, epoch), caughtUp })),
    ),
  ),
  'update {}.progress old set epoch = rebuilt.epoch from {}.progress rebuilt': onNamed((view, _, [, old, rebuilt]) =>
    (inOrder(view.in(rebuilt!), 'progress') as ProgressRow[]).flatMap(({ partition, epoch }) =>
      change(view.in(old!), partition, () => ({ epoch })),
    ),
  ),

  'begin_quarantine': updating((row, [partition, offset, time, lastHash, epoch, teamId, reason], view) => {
    if (row.next !== offset || row.epoch !== epoch || row.halted !== null) return null;
    const { base, gaps, layout } = row;
    const quarantine = { partition, teamId, failedOffset: offset, reason, since: time, next: offset, time, base, gaps };
    view.put('quarantines', `${partition} ${teamId}`, quarantine);
    const held = heldTeams(row, (before) => ({ ...before, [teamId]: Number(time) }));
    return { next: offset + 1n, time, lastHash, layout: layout + 1n, held };
  }),
  'end_quarantine': updating((row, [partition, teamId], view) => {
    view.put('quarantines', `${partition} ${teamId}`, null);
    return { layout: row.layout + 1n, held: heldTeams(row, ({ [teamId]: _, ...others }) => others) };
  }),
  'select_quarantine': onReadModel((view, [partition, teamId]) =>
    [view.get('quarantines', `${partition} ${teamId}`)].filter((row) => row !== null),
  ),
  'fail_quarantine': onReadModel((view, [partition, teamId, offset, reason]) =>
    changeQuarantine(view, [partition, teamId], ({ next }) =>
      next === offset ? { failedOffset: offset, reason } : {},
    ),
  ),
  'move_quarantine': onReadModel((view, [partition, teamId, next, time, base, gaps]) =>
    changeQuarantine(view, [partition, teamId], () => ({ next, time, base, gaps })),
  ),
  'select partition, team_id as "teamId"': onReadModel((view, [teamId]) =>
    view.all('quarantines').filter((row) => teamId === undefined || row['teamId'] === teamId),
  ),

  'select_outcomes': onReadModel((view, [partition, commandIds]) => outcomes(view, partition, commandIds)),
  'select_progress_and_outcomes': onReadModel((view, [partition, commandIds]) => {
    const { next, held } = progressOf(view, partition);
    const found = outcomes(view, partition, commandIds);
    return found.length === 0 ? [{ next, held, commandId: null }] : found.map((row) => ({ ...row, next, held }));
  }),
  // Nothing here is old enough.
  'delete from outcomes using (': nothing,
};

/**
 * Applies the log to the read model. The projector takes records in log order, decides them, and stores their changes,
 * outcomes and the progress atomically (src/log/README.md, "A batch"). Both logs and replay use it. The resulting state
 * does not depend on how records are cut into batches.
 */
import type { Database } from '../storage/database/database.ts';
import { withEndedBackend } from '../storage/database/end-backend.ts';
import type { Tx } from '../storage/database/pipelined-client.ts';
import { inPipelinedTransaction } from '../storage/database/transaction.ts';
import { combine, type BoundStatement } from '../storage/database/combine.ts';
import { type Event } from '../language/events/event.ts';
import { teamOf } from '../language/events/event-names.ts';
import type { Outcome } from '../language/events/outcome.ts';
import type { CommandId, LogRecord } from './event-log.ts';
import { hashOf } from './identity.ts';
import type { BatchMemory } from './batch/batch-memory.ts';
import { Batch, type BatchOptions, type Duplicates, type Decided } from './batch/batch.ts';
import { runsOf, stretchesOf } from './batch/cuts.ts';
import { toEntry, withoutHeld, type Entry } from './batch/entry.ts';
import { LocalKeys } from './batch/local-keys.ts';
import { type Mark, SpeculativeBatch, type ProgressAhead } from './batch/speculative-batch.ts';
import type { Models } from './model.ts';
import { ModelSet, type AnyStates } from './model-set.ts';
import { advanceProgress, readVersions, storeVersions } from './progress/advance.ts';
import { changesVersions, type Versions } from './progress/versions.ts';
import { parseHeldTeams } from './quarantine/held-teams.ts';
import { beginQuarantine } from './quarantine/quarantine.store.ts';

/** Another process has projected these records, or taken the partition over. Roll this transaction back. */
export class ProgressMoved extends Error {
  override readonly name = 'ProgressMoved';
}

export interface ProjectOptions {
  /** The epoch (fencing token) that this process got when it took the partition over. */
  readonly epoch?: bigint;
  /**
   * How to find commands that already have an outcome. `replace`: look up every command. `fail`: look up only commands
   * with an Idempotency-Key. If another command also has an outcome, `stored` rejects (isDuplicateOutcome). Then roll
   * the batch back and project it with `replace`. If duplicates are rare, `fail` saves a look-up per batch.
   */
  readonly duplicates?: Duplicates;
}

/** How many teams of a partition may be in quarantine. If more fail, single events are not the cause. */
export const quarantinesMax = 100;

/** The result of projecting a batch. */
export interface Projected extends Decided {
  /**
   * Settles when all changes of the batch are stored. The statements have already been sent, so a COMMIT can follow
   * them in the same packet.
   */
  readonly stored: Promise<void>;
}

export class Projector {
  readonly #models: ModelSet;
  readonly #keys = new LocalKeys();
  #committed: AnyStates;
  /** The last known mark of each partition. */
  readonly #marks = new Map<number, Mark>();

  constructor(models: Models) {
    this.#models = new ModelSet(models);
    this.#committed = this.#models.openCommitted();
  }

  /**
   * Forgets the reserved keys and the memory of the read model. Call it when these may be wrong, because a write met a
   * taken key (`isKeyTaken`). Open batches keep theirs, and will also fail.
   */
  forget(): void {
    this.#keys.forget();
    this.#marks.clear();
    this.#committed = this.#models.openCommitted();
  }

  /**
   * Projects consecutive records, the first at the progress of the partition. Never opens a transaction: the caller
   * commits, or rolls back if this throws or `stored` rejects. Throws ProgressMoved if the stored progress is not the
   * expected one, and any other error only on bugs.
   */
  async project(
    tx: Tx,
    partition: number,
    records: readonly LogRecord[],
    { epoch = 0n, duplicates = 'replace' }: ProjectOptions = {},
  ): Promise<Projected> {
    const entries = records.map(toEntry);
    const known = this.#marks.get(partition)?.held;
    const advancing = this.#advance(tx, partition, entries, epoch);
    // Loading need not wait for the mark, but must load nothing for held teams, because that load may be what fails.
    const held = known ?? (await advancing).held;
    const [active, commands] = withoutHeld(entries, held);
    const advanced = advancing.then((mark) => {
      // Compares the held teams with those that were assumed above.
      if (mark.held.text !== held.text)
        throw new ProgressMoved(`the quarantines of partition ${partition} have changed`);
      return mark.versions;
    });
    advanced.catch(() => undefined);
    const decided = await this.#decide(tx, { partition, duplicates }, active, advanced);
    const [before, { versions, outcomes }] = [await advanced, decided];
    let { sent } = decided;
    if (versions !== before) sent = inOrder(sent, store(tx, [storeVersions(partition, versions)]));
    return { outcomes, held: commands, stored: settled(sent) };
  }

  /**
   * Decides the events of one team among records that were skipped while the team was in quarantine, as they would have
   * been decided then. `before`: the versions at the first record. Also resolves to the versions after the last record.
   * The caller has locked the progress, moves the quarantine, and commits.
   */
  async projectHeld(
    tx: Tx,
    teamId: string,
    records: readonly LogRecord[],
    before: Versions,
  ): Promise<Projected & { readonly versions: Versions }> {
    const { partition } = records[0]!;
    // Events that change the versions already have their outcomes, and are not decided again.
    const entries = records
      .map(toEntry)
      .filter(({ event }) => teamOf(event.data) === teamId || changesVersions([{ event }]));
    const { versions, outcomes, sent } = await this.#decide(
      tx,
      { partition, duplicates: 'replace' },
      entries,
      Promise.resolve(before),
    );
    return { versions, outcomes, held: new Set(), stored: settled(sent) };
  }

  /**
   * Puts the team of a record that failed alone into quarantine, and skips the record. Returns false, and does nothing,
   * if the record belongs to no team, if it is of a newer version, or if too many teams are already in quarantine.
   * Throws ProgressMoved as `project` does, and any error of the statement.
   */
  async quarantine(tx: Tx, record: LogRecord, reason: string, epoch: bigint): Promise<boolean> {
    const { partition, offset } = record;
    const { data } = toEntry(record).event;
    const mark = this.#marks.get(partition);
    if (teamOf(data) === '' || !this.#models.decides(data) || (mark?.held.since.size ?? 0) >= quarantinesMax)
      return false;
    this.#marks.delete(partition);
    const { statement, values } = beginQuarantine(record, teamOf(data), reason, epoch);
    if ((await tx.query(statement, values)).rows.length === 0)
      throw new ProgressMoved(`partition ${partition} is not at offset ${offset}`);
    return true;
  }

  /**
   * Writes the contents of events ahead of their batches (`Model.writeAhead`), in a transaction of its own. Rejects if
   * its statements fail; then nothing is written, and the batches write it.
   */
  async writeAhead({ fills }: Pick<Database, 'fills'>, events: readonly Event[]): Promise<void> {
    const parts = events.flatMap((event) => this.#models.partsOf(event));
    const writes = this.#models.list.flatMap(([, model]) => model.writeAhead?.(parts) ?? []);
    if (writes.length === 0) return;
    await withEndedBackend(fills, (tx) =>
      inPipelinedTransaction(tx, async () => {
        for (const write of writes) await write(tx, this.#keys.open());
      }),
    );
  }

  /**
   * Reads ahead what these later events will need (`Model.lookAhead`), into the memory of the last decided batch.
   * Rejects if its statements fail.
   */
  async lookAhead(
    { fills }: Pick<Database, 'fills'>,
    { remembered }: BatchMemory,
    events: readonly Event[],
  ): Promise<void> {
    const naming = events
      .flatMap((event) => this.#models.partsOf(event))
      .filter(({ data }) => this.#models.loadsAhead(data));
    if (naming.length === 0) return;
    await fills.with(async (tx) => {
      for (const [name, { lookAhead }] of this.#models.list)
        if (remembered[name]) await lookAhead?.(tx, remembered[name], naming);
    });
  }

  /** Decides entries and sends their changes. `before`: the versions at the first entry. */
  async #decide(
    tx: Tx,
    options: Pick<BatchOptions, 'partition' | 'duplicates'>,
    entries: readonly Entry[],
    before: Promise<Versions>,
  ): Promise<{
    readonly outcomes: ReadonlyMap<CommandId, Outcome>;
    readonly versions: Versions;
    readonly sent: Promise<unknown>;
  }> {
    const outcomes = new Map<CommandId, Outcome>();
    let committed = this.#committed;
    let versions: Versions | undefined;
    let sent: Promise<unknown> = before;
    for (const stretch of stretchesOf(this.#models, entries)) {
      const batch = this.#batch({ ...options, committed, memory: null, isAhead: false });
      for (const run of runsOf(this.#models, stretch)) {
        const loading = batch.load(tx, run);
        loading.catch(() => undefined);
        versions ??= await before;
        // Reports the first failure, because it makes every later statement of the transaction fail.
        await sent;
        const writes = await loading;
        for (const write of writes) sent = inOrder(sent, write(tx));
        versions = await batch.decide(tx, run, versions);
      }
      const changes = await batch.changes();
      sent = inOrder(sent, store(tx, changes));
      // The statements that are sent alone come one after another, before anything of the next stretch.
      if (changes.some(({ isAlone }) => isAlone === true)) await sent;
      for (const [commandId, outcome] of batch.outcomes) outcomes.set(commandId, outcome);
      // From here on, this transaction itself may have stored the objects that are loaded.
      committed = this.#models.openCommitted();
    }
    return { outcomes, versions: versions ?? (await before), sent };
  }

  /**
   * Opens a batch that is decided before it is certain that the batch will have this place. It may follow another
   * speculative batch in flight, with the memory of that batch. Null if this process has not projected the partition
   * yet.
   */
  speculate(partition: number, after: ProgressAhead, epoch = 0n): SpeculativeBatch | null {
    const mark = this.#marks.get(partition);
    if (mark === undefined) return null;
    const batch = this.#batch({
      partition,
      duplicates: 'fail',
      committed: this.#committed,
      memory: after.memory,
      isAhead: true,
    });
    return new SpeculativeBatch({ models: this.#models, batch, partition, after, epoch, ...mark });
  }

  #batch(options: Omit<BatchOptions, 'keys' | 'models'>): Batch {
    return new Batch({ ...options, models: this.#models, keys: this.#keys.open() });
  }

  /** Advances the progress past all records, and returns the partition's mark before them. */
  async #advance(tx: Tx, partition: number, entries: readonly Entry[], epoch: bigint): Promise<Mark> {
    const { statement, values } = advanceProgress({
      partition,
      entries,
      lastHash: hashOf(entries.at(-1)!.record),
      epoch,
      assumed: null,
    });
    const { rows } = await tx.query(statement, values);
    const [stored] = rows;
    if (stored === undefined) {
      throw new ProgressMoved(`partition ${partition} is not at offset ${entries[0]!.record.offset}`);
    }
    const mark = { versions: readVersions(stored), layout: stored.layout, held: parseHeldTeams(stored.held) };
    // This transaction may still be rolled back. Until the next one, the versions are uncertain.
    if (changesVersions(entries)) this.#marks.delete(partition);
    else this.#marks.set(partition, mark);
    return mark;
  }
}

/**
 * Settles when both have settled. If both fail, rejects with the earlier error, because that one caused the later one.
 * Need not be awaited at once.
 */
function inOrder(earlier: Promise<unknown>, later: Promise<unknown>): Promise<unknown> {
  later.catch(() => undefined);
  const both = earlier.then(() => later);
  both.catch(() => undefined);
  return both;
}

/** A promise that everything sent is stored. It need not be awaited at once. */
function settled(sent: Promise<unknown>): Promise<void> {
  const stored = sent.then(() => undefined);
  stored.catch(() => undefined);
  return stored;
}

/**
 * Sends all changes as one statement, but for those that are sent alone. Each of these waits for the one before,
 * because the time limit of a statement begins when it is sent.
 */
async function store(tx: Tx, changes: readonly BoundStatement[]): Promise<void> {
  const together = changes.filter(({ isAlone }) => isAlone !== true);
  const alone = changes.filter(({ isAlone }) => isAlone === true);
  const statements = together.length === 0 ? alone : [combine(together), ...alone];
  for (const { statement, values } of statements) await tx.query(statement, values);
}

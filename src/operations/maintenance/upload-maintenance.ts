/**
 * Maintains uploads. It appends an event when an upload's deadline has passed, and when rows begin or cease to
 * reference its file. It removes the bytes of uploads that were given up, and orphans. Any process may do it at any
 * time.
 */
import type { Logger } from 'pino';
import { checkUpload } from '../../../commands/complete-upload.ts';
import type { UploadQueries, UploadToCheck } from '../../../projections/uploads/uploads.queries.ts';
import { commandIdOf } from '../../language/events/command-id.ts';
import type { FileStore, StoredObject } from '../../storage/files/file-store.ts';
import type { EventLog } from '../../log/event-log.ts';
import { recordFacts } from '../../log/record-fact.ts';

/** Batch sizes of the steps. */
const uploadsAtOnce = 20;
const claimsAtOnce = 500;
const filesAtOnce = 20;
const objectsAtOnce = 500;

/** Less than every upload ID. */
const firstId = '00000000-0000-0000-0000-000000000000';

export interface UploadMaintenanceOptions {
  readonly log: EventLog;
  readonly uploads: UploadQueries;
  readonly files: FileStore;
  readonly logger: Pick<Logger, 'warn'>;
  /**
   * How long after its deadline an upload is reported, in milliseconds, because this process's log clock may be ahead.
   */
  readonly settleDelay?: number;
  /**
   * The minimum age of orphans, in milliseconds by the store's clock. If an event references the bytes, the log has it
   * long before they are so old.
   */
  readonly orphanAge?: number;
}

export class UploadMaintenance {
  readonly #options: Required<UploadMaintenanceOptions>;
  /** The last upload whose claims were checked. The scan continues after it. */
  #claimsSeen = firstId;
  #objects: AsyncIterator<StoredObject> | null = null;

  constructor(options: UploadMaintenanceOptions) {
    this.#options = { settleDelay: 60_000, orphanAge: 24 * 3_600_000, ...options };
  }

  /**
   * Reports uploads whose deadline has passed. Resolves to whether there may be more. Rejects as `EventLog.append`
   * does.
   */
  async endDue(): Promise<boolean> {
    const { log, uploads, settleDelay } = this.#options;
    const due = await uploads.due(log.now() - settleDelay, uploadsAtOnce);
    await this.#check(due);
    if (due.length === 0) return false;
    // If all events came too early, retrying at once would not help.
    const left = new Set((await uploads.due(log.now() - settleDelay, uploadsAtOnce)).map(({ id }) => id));
    return due.some(({ id }) => !left.has(id));
  }

  /**
   * Checks the claims on the next files. Resolves to whether this pass has more to check. Rejects as `EventLog.append`
   * does.
   */
  async noteClaims(): Promise<boolean> {
    const { moved, last } = await this.#options.uploads.claimsMoved(this.#claimsSeen, claimsAtOnce);
    await this.#check(moved);
    this.#claimsSeen = last ?? firstId;
    return last !== null;
  }

  /**
   * Removes the bytes of uploads that an event has given up. Idempotent. Resolves to whether there may be more. Rejects
   * with StoreAway.
   */
  async clear(): Promise<boolean> {
    const { uploads, files } = this.#options;
    const givenUp = await uploads.givenUp(filesAtOnce);
    for (const { id, file } of givenUp) {
      await files.remove({ kind: 'arrived', uploadId: id });
      if (file !== null) await files.remove({ kind: 'file', name: file });
    }
    if (givenUp.length > 0) await uploads.setCleared(givenUp.map(({ id }) => id));
    return givenUp.length > 0;
  }

  /**
   * Scans a part of the store, and removes old objects that belong to no upload. Resolves to whether the pass
   * continues. While the read model is behind the log or holds events of a team in quarantine, it removes nothing,
   * because the missing events may name the objects. If the store belongs to another log, it removes nothing and logs a
   * warning. Rejects with StoreAway.
   */
  async removeOrphans(): Promise<boolean> {
    const { files, orphanAge } = this.#options;
    if (this.#objects === null && !(await this.#isOwnStore())) return false;
    this.#objects ??= files.list(Date.now() - orphanAge)[Symbol.asyncIterator]();
    const found: StoredObject[] = [];
    while (found.length < objectsAtOnce) {
      const { done, value } = await this.#next(this.#objects);
      if (done === true) {
        this.#objects = null;
        break;
      }
      found.push(value as StoredObject);
    }
    if (found.length > 0 && (await this.#knowsAll())) await this.#removeUnknown(found);
    return this.#objects !== null;
  }

  async close(): Promise<void> {
    await this.#objects?.return?.();
    this.#objects = null;
  }

  async #next(objects: AsyncIterator<StoredObject>): Promise<IteratorResult<StoredObject>> {
    try {
      return await objects.next();
    } catch (error) {
      // The next pass starts over.
      this.#objects = null;
      throw error;
    }
  }

  async #removeUnknown(found: readonly StoredObject[]): Promise<void> {
    const { uploads, files } = this.#options;
    const known = await uploads.knownFiles(found.flatMap((object) => (object.kind === 'file' ? [object.name] : [])));
    const open = await uploads.open(found.flatMap((object) => (object.kind === 'arrived' ? [object.uploadId] : [])));
    for (const object of found) {
      const isKept =
        (object.kind === 'file' && known.has(object.name)) || (object.kind === 'arrived' && open.has(object.uploadId));
      if (!isKept) await files.remove(object);
    }
  }

  /**
   * Whether the store belongs to this log. Another service may have been configured to use the same store, but a store
   * never changes its owner.
   */
  async #isOwnStore(): Promise<boolean> {
    const { uploads, files, logger } = this.#options;
    const [first] = await uploads.progress();
    const logId = first?.logId ?? null;
    if (logId === null) return false;
    const isOwn = await files.belongsTo(logId);
    if (!isOwn)
      logger.warn(
        'the store of files belongs to another log (its file or object `owner` has the ID): orphans are not removed; give each service a store of its own',
      );
    return isOwn;
  }

  /** Whether every partition, also a halted one, is projected to the end of its log, and no team is in quarantine. */
  async #knowsAll(): Promise<boolean> {
    const { log, uploads } = this.#options;
    const progress = await uploads.progress();
    const ends = await Promise.all(progress.map(async ({ partition }) => (await log.bounds(partition)).end));
    return progress.length > 0 && progress.every(({ next, isHeld }, at) => BigInt(next) >= ends[at]! && !isHeld);
  }

  async #check(found: readonly UploadToCheck[]): Promise<void> {
    // The progress is a part of the command ID, so that a retry after an event that came too early has a new one.
    await recordFacts(
      this.#options.log,
      found.map(({ id, teamId, next }) => ({
        data: checkUpload(teamId, id),
        commandId: commandIdOf('UploadChecked', id, next),
      })),
    );
  }
}

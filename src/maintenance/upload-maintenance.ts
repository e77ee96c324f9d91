/**
 * Looks after uploads from outside of the log: says in it where the time of one is over, and where rows have begun or ceased to name
 * its file; removes the bytes of those that were given up, and bytes that are nobody's. Any process may, at any time.
 */
import type { Logger } from 'pino';
import { checkUpload } from '../../commands/complete-upload.ts';
import type { UploadQueries, UploadToCheck } from '../../projections/uploads/uploads.queries.ts';
import { appendNotices } from '../log/append-notices.ts';
import type { FileStore, StoredObject } from '../files/file-store.ts';
import type { EventLog } from '../log/event-log.ts';

/** How many things one step deals with. */
const uploadsAtOnce = 20;
const claimsAtOnce = 500;
const filesAtOnce = 20;
const objectsAtOnce = 500;

/** Below every ID of an upload. */
const firstId = '00000000-0000-0000-0000-000000000000';

export interface UploadMaintenanceOptions {
  readonly log: EventLog;
  readonly uploads: UploadQueries;
  readonly files: FileStore;
  readonly logger: Pick<Logger, 'warn'>;
  /** How long after its time an upload is said to be over, in milliseconds: what this process takes for the log's time may be ahead of it. */
  readonly settleDelay?: number;
  /**
   * How old bytes must be that no upload knows, in milliseconds by the store's clock: an event that says whose they are is in the
   * log long before that, if there is one.
   */
  readonly orphanAge?: number;
}

export class UploadMaintenance {
  readonly #options: Required<UploadMaintenanceOptions>;
  /** Behind which upload the look at claims goes on. */
  #claimsSeen = firstId;
  #objects: AsyncIterator<StoredObject> | null = null;

  constructor(options: UploadMaintenanceOptions) {
    this.#options = { settleDelay: 60_000, orphanAge: 24 * 3_600_000, ...options };
  }

  /** Ends what is over. Gives whether there may be more of it. Rejects as `EventLog.append` does. */
  async endDue(): Promise<boolean> {
    const { log, uploads, settleDelay } = this.#options;
    const due = await uploads.due(log.now() - settleDelay, uploadsAtOnce);
    await this.#check(due);
    if (due.length === 0) return false;
    // Where it was too early for all, it would be for all of them again.
    const left = new Set((await uploads.due(log.now() - settleDelay, uploadsAtOnce)).map(({ id }) => id));
    return due.some(({ id }) => !left.has(id));
  }

  /** Looks at the claims on some files, and gives whether there are more to be looked at in this pass. Rejects as `EventLog.append` does. */
  async noteClaims(): Promise<boolean> {
    const { moved, last } = await this.#options.uploads.claimsMoved(this.#claimsSeen, claimsAtOnce);
    await this.#check(moved);
    this.#claimsSeen = last ?? firstId;
    return last !== null;
  }

  /** Removes the bytes of uploads that were given up; it follows the event that says so, and is safe to repeat. Rejects with StoreAway. */
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
   * Goes through some of what the store holds, and removes what is old and of no upload. Gives whether the pass goes on. Nothing is
   * removed while the read model is behind the log, which may know more, nor in a store of another log: each pass that finds it to be
   * that ends with a warning. Rejects with StoreAway.
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
      // The next pass begins anew.
      this.#objects = null;
      throw error;
    }
  }

  async #removeUnknown(found: readonly StoredObject[]): Promise<void> {
    const { uploads, files } = this.#options;
    const known = await uploads.knownFiles(found.flatMap((object) => (object.kind === 'file' ? [object.name] : [])));
    const open = await uploads.open(found.flatMap((object) => (object.kind === 'arrived' ? [object.uploadId] : [])));
    for (const object of found) {
      const isKept = (object.kind === 'file' && known.has(object.name)) || (object.kind === 'arrived' && open.has(object.uploadId));
      if (!isKept) await files.remove(object);
    }
  }

  /** Whether the store is that of this log, and not of another service with which somebody has this one share it. A store keeps its owner. */
  async #isOwnStore(): Promise<boolean> {
    const { uploads, files, logger } = this.#options;
    const [first] = await uploads.progress();
    const logId = first?.logId ?? null;
    if (logId === null) return false;
    const isOwn = await files.belongsTo(logId);
    if (!isOwn) logger.warn('the files are those of another log (see its file or object `owner`): what no upload knows is not removed');
    return isOwn;
  }

  /** Whether all that the log holds is projected, in every partition, also in one that has halted. */
  async #knowsAll(): Promise<boolean> {
    const { log, uploads } = this.#options;
    const progress = await uploads.progress();
    const ends = await Promise.all(progress.map(async ({ partition }) => (await log.bounds(partition)).end));
    return progress.length > 0 && progress.every(({ next }, at) => BigInt(next) >= ends[at]!);
  }

  async #check(found: readonly UploadToCheck[]): Promise<void> {
    // One that came too early is followed by another: the progress is another then.
    await appendNotices(this.#options.log, found.map(({ id, teamId, next }) => ({ data: checkUpload(teamId, id), about: [id, next] })));
  }
}

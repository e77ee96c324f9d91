/**
 * The free space that the disks of this process must keep. Below it, the service refuses requests that store much; far
 * below it, all writes (docs/reference/limits.md).
 */
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import { formatByteSize } from '../../../language/byte-size.ts';
import type { DiskRoom } from '../../usage/disk-share.ts';
import { noEffect } from '../answers/http-error.ts';
import { guardLargeBody, largeBodyBytes } from '../bodies/request-body.ts';
import type { App } from '../server/app-type.ts';
import { turnAwayLater, TurnedAway } from '../submit/turned-away.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route stores bytes, or allows a client to store some, even if its own body is small. */
    storesBytes?: boolean;
  }
}

/** How long the measured free space is reused, in milliseconds. */
const lookInterval = 1000;
/** Longer than a second, because only people and maintenance free space. */
const retryAfterSeconds = 10;

/** Small writes stop when the disk of the embedded Postgres has less free than this fraction of `freeMin`. */
const lastPart = 1 / 4;

/** Methods whose requests store nothing. */
const storesNothing: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);

/**
 * A folder on a disk that must not fill up. `postgres`: the data of the embedded Postgres. `spool`: large bodies while
 * they arrive.
 */
export interface WatchedFolder {
  readonly name: 'postgres' | 'spool' | 'files';
  readonly path: string;
}

/** The settings that name folders. */
interface FolderSettings {
  readonly DATABASE_URL?: string | undefined;
  readonly DATA_DIR: string;
  readonly FILES_S3_BUCKET?: string | undefined;
  readonly FILES_DIR?: string | undefined;
}

/** The folders that this process, or its embedded Postgres, writes to. */
export function foldersToWatch({
  DATABASE_URL,
  DATA_DIR,
  FILES_S3_BUCKET,
  FILES_DIR,
}: FolderSettings): WatchedFolder[] {
  return [
    // The embedded Postgres and the spool have their folders on the same disk.
    { name: DATABASE_URL === undefined ? 'postgres' : 'spool', path: DATA_DIR },
    ...(FILES_S3_BUCKET === undefined ? [{ name: 'files', path: FILES_DIR ?? join(DATA_DIR, 'files') } as const] : []),
  ];
}

interface DiskFloorOptions {
  readonly folders: readonly WatchedFolder[];
  /** In bytes. */
  readonly freeMin: number;
  readonly logger: Pick<FastifyBaseLogger, 'error' | 'warn' | 'info'>;
}

/** The free bytes of each folder. Folders whose disk could not be measured are missing. */
type FreeBytes = ReadonlyMap<WatchedFolder['name'], number>;

export class DiskFloor {
  readonly #options: DiskFloorOptions;
  #free: Promise<FreeBytes> = Promise.resolve(new Map());
  #lookedAt = -Infinity;
  /** The device of each measured folder. */
  #devices: ReadonlyMap<WatchedFolder['name'], number> = new Map();
  #isLow = false;
  #isLast = false;

  constructor(options: DiskFloorOptions) {
    this.#options = options;
  }

  /** The free space, measured within the last second. */
  free(): Promise<FreeBytes> {
    if (performance.now() - this.#lookedAt >= lookInterval) {
      this.#lookedAt = performance.now();
      this.#free = this.#look();
    }
    return this.#free;
  }

  /**
   * The disks that teams fill, each with its space above the floor at which all writes stop. Folders on one device are
   * one disk.
   */
  async rooms(): Promise<DiskRoom[]> {
    const free = await this.free();
    const devices = this.#devices;
    const watched = this.#options.folders.flatMap(({ name }) => devices.get(name) ?? []);
    return [...new Set(watched)].map((device) => {
      const names = [...free.keys()].filter((name) => devices.get(name) === device);
      const left = Math.max(0, Math.min(...names.map((name) => free.get(name)!)) - this.#lastMin);
      return { hasTables: names.includes('postgres'), hasFiles: names.includes('files'), left };
    });
  }

  /** Rejects with TurnedAway `service_unavailable` while a disk has less free than it must keep. */
  async require(): Promise<void> {
    if (this.#isBelow(await this.free())) throw this.#refusal(this.#options.freeMin);
  }

  /**
   * Turns away requests with large bodies on all routes, and all requests on routes that store bytes. When hardly any
   * space is left, turns away all writes that add something. A command with an Idempotency-Key still looks for the
   * outcome of an earlier try first.
   */
  addTo(app: App): void {
    const keepsTables = this.#options.folders.some(({ name }) => name === 'postgres');
    app.addHook('preHandler', (request, _reply, done) => {
      const { headers } = request.raw;
      const { storesBytes, operation } = request.routeOptions.config;
      // Queries and requests of operators are not commands.
      const isCommand = operation !== undefined && operation.isCommand !== false;
      const require = async (hasRoom: Promise<void>): Promise<void> => {
        try {
          await hasRoom;
        } catch (error) {
          if (!(error instanceof TurnedAway) || !isCommand || headers['idempotency-key'] === undefined) throw error;
          turnAwayLater(request.raw, error);
        }
      };
      if (storesNothing.has(request.method)) {
        done();
      } else if (storesBytes === true || Number(headers['content-length'] ?? 0) > largeBodyBytes) {
        require(this.require()).then(() => done(), done);
      } else {
        if ((headers['transfer-encoding'] ?? headers['content-encoding']) !== undefined)
          guardLargeBody(request.raw, () => require(this.require()));
        if (keepsTables && isCommand) require(this.#requireLast()).then(() => done(), done);
        else done();
      }
    });
  }

  /** Rejects as `require` does while the disk of the embedded Postgres has hardly anything left. */
  async #requireLast(): Promise<void> {
    if (isFull(await this.free(), this.#lastMin)) throw this.#refusal(this.#lastMin);
  }

  get #lastMin(): number {
    return Math.floor(this.#options.freeMin * lastPart);
  }

  #refusal(min: number): TurnedAway {
    return new TurnedAway(
      'service_unavailable',
      `The service's disk has less than ${formatByteSize(min)} free. ${noEffect}`,
      { 'retry-after': String(retryAfterSeconds) },
    );
  }

  async #look(): Promise<FreeBytes> {
    const free = new Map<WatchedFolder['name'], number>();
    const devices = new Map<WatchedFolder['name'], number>();
    await Promise.all(
      this.#options.folders.map(async ({ name, path }) => {
        // If a folder cannot be measured, the code that uses it reports the error.
        const [found, folder] = await Promise.all([statfs(path), stat(path)]).catch(() => [null, null]);
        if (found === null || folder === null) return;
        free.set(name, found.bavail * found.bsize);
        devices.set(name, folder.dev);
      }),
    );
    this.#devices = devices;
    this.#tell(free);
    return free;
  }

  /** Logs one line each time that a floor is crossed. */
  #tell(free: FreeBytes): void {
    const isLow = this.#isBelow(free);
    const isLast = isFull(free, this.#lastMin);
    const { freeMin, folders, logger } = this.#options;
    const details = {
      freeMin,
      free: Object.fromEntries(free),
      folders: Object.fromEntries(folders.map(({ name, path }) => [name, path])),
    };
    if (isLow !== this.#isLow) {
      this.#isLow = isLow;
      if (isLow)
        logger.warn(
          details,
          'a disk has less free space than DISK_FREE_MIN: large bodies, chunks and uploads are refused',
        );
      else
        logger.info(
          details,
          'all disks have DISK_FREE_MIN of free space again: large bodies, chunks and uploads are accepted',
        );
    }
    if (isLast === this.#isLast) return;
    this.#isLast = isLast;
    if (isLast)
      logger.error(
        details,
        'the disk of Postgres has less free space than a quarter of DISK_FREE_MIN: all writes but deletions are refused',
      );
    else
      logger.info(
        details,
        'the disk of Postgres has a quarter of DISK_FREE_MIN of free space again: small writes are accepted',
      );
  }

  #isBelow(free: FreeBytes): boolean {
    return [...free.values()].some((bytes) => bytes < this.#options.freeMin);
  }
}

/** Whether the disk of the embedded Postgres is below `min`. Small writes store something only there. */
function isFull(free: FreeBytes, min: number): boolean {
  return (free.get('postgres') ?? Infinity) < min;
}

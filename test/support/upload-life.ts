/** Runs the background work on uploads for tests, and shows the state of uploads and of their bytes. */
import { pino } from 'pino';
import type { FileStore } from '../../src/storage/files/file-store.ts';
import type { Service } from '../../src/app/service.ts';
import {
  UploadMaintenance,
  type UploadMaintenanceOptions,
} from '../../src/operations/maintenance/upload-maintenance.ts';
import type { Api, Team } from './api.ts';
import { recordUpload } from './recorded-upload.ts';
import { sleepUntil } from './server.ts';
import type { CreatedUpload, upload } from './uploads.ts';

/** In milliseconds. */
export const hour = 3_600_000;

/** How long a file that no row names is kept, in milliseconds. Only maintenance removes it after that. */
export const lifeMs = 2000;

/** How long an upload may take, in milliseconds: longer than tests need to complete one, even on a busy machine. */
const uploadLifeMs = 6000;

/** How many open uploads a team may have. */
export const openMax = 20;

/** Maintenance runs only when a test runs it. */
export const lifeSettings = {
  UPLOAD_LIFE_MS: String(uploadLifeMs),
  UPLOAD_UNCLAIMED_LIFE_MS: String(lifeMs),
  MAINTENANCE_INTERVAL_MS: '3600000',
  UPLOADS_OPEN_MAX: String(openMax),
};

export type File = Awaited<ReturnType<typeof upload>>;

export interface UploadRow {
  /**
   * Log times in milliseconds: since when no row names the file, until when the upload can be completed, and when it
   * ended.
   */
  readonly since: number | null;
  readonly expires: number;
  readonly removed: number | null;
  readonly cleared: boolean;
}

/** The name of a file in the store. */
export function nameOf({ url }: Pick<File, 'url'>): string {
  return new URL(url).pathname.split('/')[2]!;
}

/** The status of a GET of its public URL. */
export async function statusOf({ url }: Pick<File, 'url'>): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

export class UploadLife {
  readonly store: FileStore;
  readonly #api: Api;
  readonly #operator: Service;
  readonly #maintenances: UploadMaintenance[] = [];

  /** `store`: a store like that of the service. It is closed together with this object. */
  constructor(api: Api, operator: Service, store: FileStore) {
    this.#api = api;
    this.#operator = operator;
    this.store = store;
  }

  async close(): Promise<void> {
    for (const maintenance of this.#maintenances) await maintenance.close();
    await this.store.close();
  }

  newMaintenance(options: Partial<UploadMaintenanceOptions> = {}): UploadMaintenance {
    const {
      log,
      queries: { uploads },
    } = this.#operator;
    const maintenance = new UploadMaintenance({
      log,
      uploads,
      files: this.store,
      logger: pino({ level: 'silent' }),
      settleDelay: 0,
      ...options,
    });
    this.#maintenances.push(maintenance);
    return maintenance;
  }

  /** Creates an upload that lasts an hour, as does its file. */
  async createLasting(team: Team): Promise<CreatedUpload> {
    const expected = await recordUpload(this.#operator.log, team, {
      sizeMax: 1000,
      lifeMs: hour,
      unclaimedLifeMs: hour,
    });
    return { id: expected.uploadId, location: await this.store.locate(expected, this.#api.url) };
  }

  /**
   * Runs all maintenance that is due. Claims come last, so that no file ends at the very moment at which its clock
   * starts.
   */
  async keepUp(maintenance = this.newMaintenance()): Promise<void> {
    while (await maintenance.endDue());
    while (await maintenance.noteClaims());
    while (await maintenance.clear());
  }

  /** Removes orphans in one pass through the store. */
  async removeOrphans(options: Partial<UploadMaintenanceOptions>): Promise<void> {
    const maintenance = this.newMaintenance(options);
    while (await maintenance.removeOrphans());
  }

  async rowOf({ id }: { readonly id: string }): Promise<UploadRow> {
    const {
      rows: [row],
    } = await this.#operator.database.pool.query<UploadRow>(
      `select unclaimed_since::float8 as since, expires_at::float8 as expires, removed_at::float8 as removed, cleared
        from uploads where id = $1`,
      [id],
    );
    return row!;
  }

  /** The content of the store: the IDs of uploads for which bytes have arrived, and the names of files. */
  async stored(): Promise<Set<string>> {
    const objects = await Array.fromAsync(this.store.list(Number.MAX_SAFE_INTEGER));
    return new Set(objects.map((object) => (object.kind === 'arrived' ? object.uploadId : object.name)));
  }

  /** Runs maintenance until this upload has ended. Then every upload that expired earlier has ended, too. */
  async untilEnded(one: { readonly id: string }): Promise<void> {
    await sleepUntil(async () => {
      await this.keepUp();
      return (await this.rowOf(one)).cleared;
    }, `upload ${one.id} has ended`);
  }
}

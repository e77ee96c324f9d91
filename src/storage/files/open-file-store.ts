/** Opens the file store that the settings name. */
import { join } from 'node:path';
import { inDataFolder, makeFolder } from '../data-folder.ts';
import type { SecretKeys } from '../security/secret-keys.ts';
import { LocalFileStore } from './local-file-store.ts';
import type { S3ClientOptions } from './s3-client.ts';
import type { S3FileStore } from './s3-file-store.ts';

/** The settings of the S3 for files, and for backups unless they name another one. */
export interface S3Settings {
  readonly FILES_S3_ENDPOINT?: string | undefined;
  readonly FILES_S3_REGION: string;
  readonly FILES_S3_ACCESS_KEY_ID?: string | undefined;
  readonly FILES_S3_SECRET_ACCESS_KEY?: string | undefined;
  readonly FILES_S3_PATH_STYLE: boolean;
  readonly CONNECTIONS_MAX: number;
  readonly REQUEST_IDLE_TIMEOUT_MS: number;
}

/** The settings of where uploaded files are. */
export interface FileSettings extends S3Settings {
  readonly DATA_DIR: string;
  readonly FILES_DIR?: string | undefined;
  readonly FILES_S3_BUCKET?: string | undefined;
  readonly FILES_S3_PREFIX?: string | undefined;
  readonly FILES_S3_PUBLIC_ENDPOINT?: string | undefined;
  readonly PUBLIC_URL?: string | undefined;
}

/** Rejects with ConfigError for a wrong setting, and with StoreAway when S3 does not answer, which may be temporary. */
export async function openFileStore(config: FileSettings, keys: SecretKeys): Promise<LocalFileStore | S3FileStore> {
  if (config.FILES_S3_BUCKET === undefined) {
    const folder = config.FILES_DIR ?? join(config.DATA_DIR, 'files');
    return inDataFolder(
      folder,
      async () => {
        await makeFolder(folder);
        return LocalFileStore.open({ folder, keys, publicUrl: config.PUBLIC_URL ?? null });
      },
      config.FILES_DIR === undefined ? 'DATA_DIR' : 'FILES_DIR',
    );
  }
  // Loaded on demand: the SDK costs nothing without S3.
  const { S3FileStore } = await import('./s3-file-store.ts');
  return S3FileStore.open({
    ...s3OptionsOf(config),
    bucket: config.FILES_S3_BUCKET,
    prefix: config.FILES_S3_PREFIX ?? '',
    publicEndpoint: config.FILES_S3_PUBLIC_ENDPOINT ?? null,
  });
}

/** The options of a client for the S3 that the settings name. */
export function s3OptionsOf(config: S3Settings): S3ClientOptions {
  const accessKeyId = config.FILES_S3_ACCESS_KEY_ID;
  const secretAccessKey = config.FILES_S3_SECRET_ACCESS_KEY;
  return {
    endpoint: config.FILES_S3_ENDPOINT ?? null,
    region: config.FILES_S3_REGION,
    credentials: accessKeyId === undefined || secretAccessKey === undefined ? null : { accessKeyId, secretAccessKey },
    isPathStyle: config.FILES_S3_PATH_STYLE,
    requestsMax: config.CONNECTIONS_MAX,
    idleTimeout: config.REQUEST_IDLE_TIMEOUT_MS,
  };
}

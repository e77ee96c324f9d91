/** Opens the store of backups that the command line names. */
import { resolve } from 'node:path';
import { s3OptionsOf, type S3Settings } from '../../storage/files/open-file-store.ts';
import { BackupError, type BackupStore } from './backup-store.ts';
import { FolderStore } from './folder-store.ts';

/**
 * `place` is a folder, or `s3://bucket/prefix` with `?endpoint=...&region=...&pathStyle=true` if it is not in the S3 of
 * the uploaded files. With `make`, a missing folder is created. Rejects with BackupError if the place is wrong or
 * missing, and with StoreAway.
 */
export async function openBackupStore(
  place: string,
  config: S3Settings,
  options: { readonly make: boolean },
): Promise<BackupStore> {
  if (!/^[a-z0-9]+:\/\//.test(place)) return FolderStore.open(resolve(place), options);
  const url = URL.canParse(place) ? new URL(place) : null;
  if (url?.protocol !== 's3:' || url.hostname === '')
    throw new BackupError(`${place} is neither a folder nor s3://bucket/prefix.`);
  const prefix = url.pathname.replace(/^\/+|\/+$/g, '');
  const given = url.searchParams;
  const unknown = [...given.keys()].filter((name) => !['endpoint', 'region', 'pathStyle'].includes(name));
  if (unknown.length > 0)
    throw new BackupError(`${place}: ${unknown[0]} is unknown; endpoint, region and pathStyle can be given.`);
  const settings = s3OptionsOf(config);
  // Loaded on demand: the SDK costs nothing without S3.
  const { S3BackupStore } = await import('./s3-store.ts');
  return S3BackupStore.open({
    ...settings,
    bucket: url.hostname,
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint: given.get('endpoint') ?? settings.endpoint,
    region: given.get('region') ?? settings.region,
    isPathStyle: given.has('pathStyle') ? given.get('pathStyle') === 'true' : settings.isPathStyle,
  });
}

/** Opens the store of backups that the command line names. */
import { resolve } from 'node:path';
import type { Config } from '../app/config.ts';
import { BackupError, type BackupStore } from './backup-store.ts';
import { FolderStore } from './folder-store.ts';

/** `place`: a folder. `make`: whether a missing folder is made. Rejects with BackupError if there is none. */
export async function openBackupStore(place: string, _config: Config, options: { readonly make: boolean }): Promise<BackupStore> {
  if (/^[a-z0-9]+:\/\//.test(place)) throw new BackupError(`${place} is no folder.`);
  return FolderStore.open(resolve(place), options);
}

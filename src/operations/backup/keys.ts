/** Stores the signing keys of a deployment (src/storage/security/secret-keys.ts) as an encrypted object of its own. */
import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type pg from 'pg';
import { z } from 'zod';
import { BackupError, type BackupStore } from './backup-store.ts';
import { open, seal } from './sealed-keys.ts';

const storedKeys = z.array(z.object({ id: z.number(), bytes: z.string(), signsFrom: z.string() }));

/** Stores the keys of `client`'s database. Resolves to the name of the object. */
export async function backupKeys(client: pg.ClientBase, store: BackupStore, passphrase: Buffer): Promise<string> {
  const { rows } = await client.query<z.output<typeof storedKeys>[number]>(
    `select id, encode(bytes, 'base64') as bytes, signs_from::text as "signsFrom" from tablog_keys.keys order by id`,
  );
  const sealed = await seal(Buffer.from(JSON.stringify(rows)), passphrase);
  const name = `keys/${randomUUID()}`;
  await store.put(name, sealed, sealed.length);
  return name;
}

/** Reads and decrypts the keys. Rejects with BackupError. */
export async function readKeys(
  store: BackupStore,
  name: string,
  passphrase: Buffer,
): Promise<z.output<typeof storedKeys>> {
  const stream = await store.read(name);
  if (stream === null) throw new BackupError(`The keys ${name} are missing.`);
  return storedKeys.parse(JSON.parse((await open(await buffer(stream), passphrase)).toString()));
}

/** Replaces the keys of `client`'s database. Call it in a transaction. */
export async function restoreKeys(client: pg.ClientBase, keys: z.output<typeof storedKeys>): Promise<void> {
  await client.query('delete from tablog_keys.keys');
  await client.query(
    `insert into tablog_keys.keys (id, bytes, signs_from)
      select id, decode(bytes, 'base64'), "signsFrom"::timestamptz
      from jsonb_to_recordset($1) as given(id smallint, bytes text, "signsFrom" text)`,
    [JSON.stringify(keys)],
  );
}

/** `tablog keys`: the secrets that sign job IDs and upload URLs. */
import { Pool } from 'pg';
import type { Command } from 'commander';
import { readConfig } from '../app/config.ts';
import { idMax, listSecretKeys, removeSecretKey, rotateSecretKey } from '../storage/security/secret-keys.ts';
import { auditedCommand } from './audited.ts';
import { newLogger, wholeNumber, writeOut, writeTable, writeWords } from './console.ts';
import { UserError } from './user-error.ts';

interface Flags {
  readonly json?: boolean;
}

export function addKeyCommands(program: Command): void {
  const keys = program
    .command('keys')
    .description('list, rotate and remove the keys that sign job IDs and upload URLs');
  const command = (name: string, description: string): Command => {
    return keys.command(name).description(description).option('--json', 'write the result as JSON');
  };
  command('list', 'list the keys, without their secrets').action(list);
  command('rotate', 'create a key for new signatures; signatures of older keys stay valid').action(rotate);
  command(
    'remove',
    'remove an older key, for example because it leaked: job IDs that it signed are refused from then on, and so are ' +
      'upload URLs if files are stored in a folder',
  )
    .argument('<key-id>', 'the ID of the key', wholeNumber(1, idMax))
    .action(remove);
}

async function list(flags: Flags): Promise<void> {
  const keys = await withPool(listSecretKeys);
  if (flags.json) writeOut(JSON.stringify(keys));
  else
    await writeTable(
      ['ID', 'STATE'],
      keys.map(({ id, state }) => [String(id), state]),
    );
}

async function rotate(flags: Flags): Promise<void> {
  const key = await auditedCommand('key.rotate', {}, async (details) => {
    const made = await withPool((pool) => rotateSecretKey(pool));
    if (made === null) throw new UserError(`Key ${idMax} is the last possible key: no more can be made.`);
    details['keyId'] = made.id;
    return made;
  });
  if (flags.json) writeOut(JSON.stringify(key));
  else if (key.state === 'current') writeWords(`Key ${key.id} is created and signs from now on.`);
  else writeWords(`Key ${key.id} is created. It signs in a minute, when all running processes know it.`);
}

async function remove(id: number, flags: Flags): Promise<void> {
  await auditedCommand('key.remove', { keyId: id }, async () => {
    const outcome = await withPool((pool) => removeSecretKey(pool, id));
    if (outcome === 'unknown') throw new UserError(`There is no key ${id}; see \`tablog keys list\`.`);
    if (outcome === 'current') {
      throw new UserError(
        `Key ${id} is the signing key. Create another with \`tablog keys rotate\`, and remove this one once the new key signs.`,
      );
    }
    if (outcome === 'tooEarly') {
      throw new UserError(
        `The newer key has only just begun to sign, so some processes may still sign with key ${id}. Try again in half a minute.`,
      );
    }
  });
  if (flags.json) writeOut(JSON.stringify({ id, removed: true }));
  else writeWords(`Key ${id} is removed. Within half a minute all running processes refuse its signatures.`);
}

/** Opens Postgres only, so that keys can be rotated and removed even if the log is unavailable. */
async function withPool<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
  const { openPostgres } = await import('../app/open-postgres.ts');
  await using resources = new AsyncDisposableStack();
  const postgres = await openPostgres(readConfig(), newLogger());
  resources.defer(() => postgres.close());
  const pool = new Pool({ connectionString: postgres.url, max: 1, application_name: 'tablog' });
  resources.defer(() => pool.end());
  return await work(pool);
}

/** `tablog keys`: the secrets that sign job IDs and upload URLs. */
import { Pool } from 'pg';
import type { Command } from 'commander';
import { readConfig } from '../app/config.ts';
import { idMax, listSecretKeys, removeSecretKey, rotateSecretKey } from '../storage/security/secret-keys.ts';
import { audited } from './audited.ts';
import { newLogger, wholeNumber, writeOut, writeTable, writeWords } from './console.ts';
import { UserError } from './user-error.ts';

interface Flags {
  readonly json?: boolean;
}

export function addKeyCommands(program: Command): void {
  const keys = program
    .command('keys')
    .description("list, rotate and remove the keys that jobs' IDs and the URLs of uploads are signed with");
  const command = (name: string, description: string): Command => {
    return keys.command(name).description(description).option('--json', 'write the result as JSON');
  };
  command('list', 'list the keys, without their secrets').action(list);
  command('rotate', 'make a key that new signatures are made with; what older ones signed stays good').action(rotate);
  command(
    'remove',
    'remove a key that does not sign any more, because it leaked: what it signed is refused from then on, which is ' +
      'IDs of jobs, and URLs that bytes of uploads are sent to where files are kept in a folder',
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
  const key = await audited('key.rotate', {}, async (details) => {
    const made = await withPool((pool) => rotateSecretKey(pool));
    if (made === null) throw new UserError(`Key ${idMax} was the last one that there can be.`);
    details['keyId'] = made.id;
    return made;
  });
  if (flags.json) writeOut(JSON.stringify(key));
  else if (key.state === 'current') writeWords(`Key ${key.id} is made. New signatures are made with it.`);
  else
    writeWords(
      `Key ${key.id} is made. In a minute new signatures are made with it, when all running processes know it.`,
    );
}

async function remove(id: number, flags: Flags): Promise<void> {
  await audited('key.remove', { keyId: id }, async () => {
    const outcome = await withPool((pool) => removeSecretKey(pool, id));
    if (outcome === 'unknown') throw new UserError(`There is no key ${id}; see \`tablog keys list\`.`);
    if (outcome === 'current') {
      throw new UserError(
        `Key ${id} signs at present. Make another one with \`tablog keys rotate\`, and remove this one when that one signs.`,
      );
    }
    if (outcome === 'tooEarly') {
      throw new UserError(
        `A newer key has only just begun to sign, and some process may sign with key ${id} yet. Try again in half a minute.`,
      );
    }
  });
  if (flags.json) writeOut(JSON.stringify({ id, removed: true }));
  else writeWords(`Key ${id} is removed. In half a minute no running process accepts what it signed.`);
}

/** Needs Postgres only: keys can be rotated and removed whatever the state of the log. */
async function withPool<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
  const { openPostgres } = await import('../app/open-postgres.ts');
  await using resources = new AsyncDisposableStack();
  const postgres = await openPostgres(readConfig(), newLogger());
  resources.defer(() => postgres.close());
  const pool = new Pool({ connectionString: postgres.url, max: 1, application_name: 'tablog' });
  resources.defer(() => pool.end());
  return await work(pool);
}

/** Stashes for tests to import. */
import type { Answer, Client } from './client.ts';
import { csv } from './media-types.ts';

let made = 0;

/** A stash ID that no other stash has. */
export function newStashId(): string {
  made += 1;
  return `stash-${made}`;
}

/** Creates a stash from these chunks, sent one after the other. Resolves to its ID. A string is sent as CSV. */
export async function stashOf(client: Client, chunks: Readonly<Record<string, unknown>>): Promise<string> {
  const stashId = newStashId();
  await putChunks(client, stashId, Object.entries(chunks));
  return stashId;
}

/** Puts chunks into a stash, one after the other. Rejects if one is refused. */
export async function putChunks(
  client: Client,
  stashId: string,
  chunks: readonly (readonly [serial: string, rows: unknown])[],
): Promise<void> {
  for (const [serial, rows] of chunks) {
    const headers = typeof rows === 'string' ? csv : {};
    expectStored(await client.put(`/stashes/${stashId}/${serial}`, rows, headers));
  }
}

/** Throws unless the answer is that to a stored chunk or to a successful deletion. */
export function expectStored(answer: Answer): void {
  if (answer.status !== 200 || answer.text !== '{}') throw new Error(`${answer.status} ${answer.text}`);
}

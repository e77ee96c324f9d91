/** Stashes for tests to import. */
import type { Answer, Client } from './client.ts';

let made = 0;

/** A name that no other stash has. */
export function newStashId(): string {
  made += 1;
  return `stash-${made}`;
}

/** Makes a stash of these chunks, which are sent one after the other, and gives its name. A text is CSV. */
export async function stashOf(client: Client, chunks: Readonly<Record<string, unknown>>): Promise<string> {
  const stashId = newStashId();
  await putChunks(client, stashId, Object.entries(chunks));
  return stashId;
}

/** Puts chunks into a stash, one after the other; rejects when one is refused. */
export async function putChunks(client: Client, stashId: string, chunks: readonly (readonly [serial: string, rows: unknown])[]): Promise<void> {
  for (const [serial, rows] of chunks) {
    const headers = typeof rows === 'string' ? { 'content-type': 'text/csv' } : {};
    expectStored(await client.put(`/stashes/${stashId}/${serial}`, rows, headers));
  }
}

/** The answer to every chunk that is taken, and to every deletion. */
export function expectStored(answer: Answer): void {
  if (answer.status !== 200 || answer.text !== '{}') throw new Error(`${answer.status} ${answer.text}`);
}

import type { SecretKeys } from '../../src/security/secret-keys.ts';

/** Keys of these IDs, the last of them the current one. The same ID is the same secret. */
export function keysOf(...ids: readonly number[]): SecretKeys {
  const keys = ids.map((id) => ({ id, bytes: new Uint8Array(32).fill(id) }));
  return { current: keys.at(-1)!, find: (id) => keys.find((key) => key.id === id) ?? null };
}

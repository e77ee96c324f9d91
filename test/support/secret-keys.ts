import type { SecretKeys } from '../../src/storage/security/secret-keys.ts';

/** Keys with these IDs, the last of them current. Equal IDs have equal secrets. */
export function keysOf(...ids: readonly number[]): SecretKeys {
  const keys = ids.map((id) => ({ id, bytes: new Uint8Array(32).fill(id) }));
  return { current: keys.at(-1)!, find: (id) => keys.find((key) => key.id === id) ?? null };
}

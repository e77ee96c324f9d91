import { createHash } from 'node:crypto';

/** A deterministic command ID, the same for each retry: a hash of the command's subject, in UUID form. */
export function commandIdOf(...about: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(about)).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-${hash.slice(12, 16)}-${hash.slice(16, 20)}-${hash.slice(20, 32)}`;
}

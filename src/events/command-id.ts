import { createHash } from 'node:crypto';

/** The ID of a command that is the same for each try: a hash of what it is about, in the form of a UUID. */
export function commandIdOf(...about: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(about)).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-${hash.slice(12, 16)}-${hash.slice(16, 20)}-${hash.slice(20, 32)}`;
}

/**
 * A process that receives the bytes of an upload, for tests that make it fail from outside. Arguments: the folder of
 * the store, the upload's ID, the number of bytes, and whether they then end (`end`) or stall (`stall`). Prints the
 * error's name, or `received`.
 */
import { LocalFileStore } from '../../src/storage/files/local-file-store.ts';
import { keysOf } from './secret-keys.ts';

const [folder, uploadId, bytes, then] = process.argv.slice(2) as [string, string, string, 'end' | 'stall'];

async function* chunks(): AsyncIterable<Uint8Array> {
  for (let left = Number(bytes); left > 0; left -= 4096) yield Buffer.alloc(Math.min(left, 4096), 'x');
  if (then === 'end') return;
  process.stdout.write('stalled');
  // Keeps the process alive until it is killed.
  await new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
}

const store = await LocalFileStore.open({ folder, keys: keysOf(1), publicUrl: null });
try {
  await store.receive(uploadId, chunks(), Number(bytes));
  process.stdout.write('received');
} catch (error) {
  process.stdout.write((error as Error).name);
}

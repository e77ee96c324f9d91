/**
 * The settings of an embedded Postgres, which shares its machine with other programs. Settings for durability (fsync,
 * synchronous_commit) keep their defaults.
 */
import { statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';

const MiB = 1024 * 1024;

/** The memory of the machine, or of the container if that has less, in bytes. */
export function memoryOfMachine(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Infinity);
}

/** The size of the disk of a folder, in bytes. */
export async function sizeOfDisk(folder: string): Promise<number> {
  const { blocks, bsize } = await statfs(folder);
  return blocks * bsize;
}

/** The machine of a server. */
interface Machine {
  /** In bytes. */
  readonly memory: number;
  /** The size of the disk with its files, in bytes. */
  readonly disk: number;
}

/**
 * Settings that fit the machine: `shared_buffers` take a 32nd of the memory (64 MB to 512 MB), and the WAL takes up to
 * a 16th of the disk (256 MB to 1 GB).
 */
export function serverSettings({ memory, disk }: Machine): Readonly<Record<string, string>> {
  const buffers = between(64, memory / 32 / MiB, 512);
  const wal = between(256, disk / 16 / MiB, 1024);
  return {
    max_connections: '100',
    // Pages that do not fit are read and written through the kernel again and again, each time with a checksum.
    shared_buffers: `${buffers}MB`,
    huge_pages: 'off',
    jit: 'off',
    // Parallel queries need shared memory files, for which a container has 64 MB by default.
    max_parallel_workers_per_gather: '0',
    max_parallel_maintenance_workers: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // After a checkpoint, the first change of each page writes the whole page to the WAL. A large WAL makes checkpoints
    // rare.
    max_wal_size: `${wal}MB`,
    // New WAL files would be filled with zeros first, which delays every commit.
    wal_init_zero: 'off',
    min_wal_size: '256MB',
    // The default is 2 MB with the smallest `shared_buffers`; then writers of rows wait while older WAL goes to disk.
    wal_buffers: '16MB',
    log_checkpoints: 'off',
  };
}

/** The number without its fraction, but no less than `min` and no more than `max`. */
function between(min: number, number: number, max: number): number {
  return Math.min(max, Math.max(min, Math.floor(number)));
}

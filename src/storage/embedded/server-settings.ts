/**
 * The settings of an embedded Postgres: a server that shares its machine. Those for durability (fsync,
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
 * By its machine: `shared_buffers` take a 32nd of the memory, 64 MB at least and 512 MB at most, and the WAL a 16th of
 * the disk, 256 MB at least and 1 GB at most.
 */
export function serverSettings({ memory, disk }: Machine): Readonly<Record<string, string>> {
  const buffers = between(64, memory / 32 / MiB, 512);
  const wal = between(256, disk / 16 / MiB, 1024);
  return {
    max_connections: '100',
    // What does not fit is read and written through the kernel again and again, each time with a checksum of the page.
    shared_buffers: `${buffers}MB`,
    huge_pages: 'off',
    jit: 'off',
    // Parallel queries need shared memory files, for which a container has 64 MB by default.
    max_parallel_workers_per_gather: '0',
    max_parallel_maintenance_workers: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // After each checkpoint, the first change of a page writes the whole page to the WAL, so there are to be few
    // checkpoints.
    max_wal_size: `${wal}MB`,
    // New WAL files would be filled with zeros first, which delays every commit.
    wal_init_zero: 'off',
    min_wal_size: '256MB',
    // With the 2 MB that it has by default beside the smallest `shared_buffers`, writers of rows wait while older WAL
    // goes to the disk.
    wal_buffers: '16MB',
    log_checkpoints: 'off',
  };
}

/** The number without its fraction, but no less than `min` and no more than `max`. */
function between(min: number, number: number, max: number): number {
  return Math.min(max, Math.max(min, Math.floor(number)));
}

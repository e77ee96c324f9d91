/** The settings of an embedded Postgres: a server that shares its machine. Those for durability (fsync, synchronous_commit) keep their defaults. */
import { totalmem } from 'node:os';

const MiB = 1024 * 1024;

/** The memory of the machine, or of the container if that has less, in bytes. */
export function memoryOfMachine(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Infinity);
}

/** By the memory of its machine, in bytes: `shared_buffers` take a 32nd of it, 64 MB at least and 256 MB at most. */
export function serverSettings(memory: number): Readonly<Record<string, string>> {
  const buffers = Math.min(256, Math.max(64, Math.floor(memory / 32 / MiB)));
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
    // After each checkpoint, the first change of a page writes the whole page to the WAL, so there are to be few checkpoints.
    max_wal_size: '1GB',
    // New WAL files would be filled with zeros first, which delays every commit.
    wal_init_zero: 'off',
    min_wal_size: '256MB',
    // With the 2 to 8 MB that it has by default beside such `shared_buffers`, writers of rows wait while older WAL goes to the disk.
    wal_buffers: '16MB',
    log_checkpoints: 'off',
  };
}

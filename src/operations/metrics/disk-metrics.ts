/** Metrics of the disks that this process writes to, read at each scrape. */
import { Gauge, type Registry } from 'prom-client';
import type { DiskFloor } from '../../api/http/limits/disk-floor.ts';

type Disks = Pick<DiskFloor, 'free'>;

export function addDiskMetrics(registry: Registry, disks: Disks): void {
  const free: Gauge<'folder'> = new Gauge({
    name: 'tablog_disk_free_bytes',
    help: 'Free bytes on the disk of a folder of this process.',
    labelNames: ['folder'],
    registers: [registry],
    collect: async () => {
      free.reset();
      for (const [folder, bytes] of await disks.free()) free.set({ folder }, bytes);
    },
  });
}

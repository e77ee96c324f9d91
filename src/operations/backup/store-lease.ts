/**
 * Keeps backups and removals apart. A running backup reuses objects of the store that no manifest names yet, and a
 * removal must not delete them. Each backup and each removal holds a lease: an object `running/KIND-ID`, which it
 * stores again every minute.
 */
import { randomUUID } from 'node:crypto';
import { pause } from '../../storage/pause.ts';
import { BackupError, type BackupStore } from './backup-store.ts';

/** Leases of the same kind do not exclude each other. */
export type LeaseKind = 'backup' | 'removal';

const folder = 'running/';
const renewedEvery = 60_000;

/** A lease that was not renewed for this long, in milliseconds, counts as abandoned: its process was killed. */
export const abandonedAfter = 10 * renewedEvery;

/**
 * If work cannot renew its lease for this long, in milliseconds, it gives up, before others count its lease as
 * abandoned.
 */
export const givenUpAfter = abandonedAfter / 2;

/** The lease of running work. */
export interface StoreLease {
  /** Throws BackupError if the lease has ever gone without renewal for too long: other work may have begun then. */
  check(): void;
}

/**
 * Holds a lease while `work` runs. Rejects with BackupError if work of the other kind is running, and as `work` does.
 */
export async function withStoreLease<T>(
  store: BackupStore,
  kind: LeaseKind,
  work: (lease: StoreLease) => Promise<T>,
  every = renewedEvery,
): Promise<T> {
  const name = `${folder}${kind}-${randomUUID()}`;
  // Use the wall clock: the monotonic clock stops while a machine is suspended.
  let renewedAt = Date.now();
  let hasLapsed = false;
  let failure: unknown;
  const noteLapse = (): void => {
    hasLapsed ||= Date.now() - renewedAt >= givenUpAfter;
  };
  const renew = async (): Promise<void> => {
    const began = Date.now();
    noteLapse();
    await store.put(name, Buffer.from(kind), kind.length);
    renewedAt = began;
  };
  const done = new AbortController();
  const renewing = async (): Promise<void> => {
    for (await pause(every, done.signal); !done.signal.aborted; await pause(every, done.signal)) {
      await renew().catch((error: unknown) => {
        failure = error;
      });
    }
  };
  // Store the lease before looking for others: if two begin at once, at least one of them sees the other.
  await renew();
  const renewals = renewing();
  try {
    await expectNoOther(store, kind, name);
    return await work({
      check: () => {
        noteLapse();
        if (hasLapsed)
          throw new BackupError(
            `The lease of this command could not be renewed for ${givenUpAfter / 60_000} minutes. Run the command again.`,
            { cause: failure },
          );
      },
    });
  } finally {
    done.abort();
    await renewals;
    // If the removal fails, the lease counts for ten more minutes.
    await store.remove(name).catch(() => undefined);
  }
}

async function expectNoOther(store: BackupStore, kind: LeaseKind, own: string): Promise<void> {
  // Ages are by the store's clock.
  const now = (await store.find(own))!.storedAt;
  for await (const { name, storedAt } of store.list(folder)) {
    const age = now - storedAt;
    if (age >= abandonedAfter) await store.remove(name);
    else if (!name.startsWith(`${folder}${kind}-`)) {
      const other = kind === 'backup' ? 'Sets are being removed from here' : 'A backup is being taken here';
      const minutes = Math.ceil((abandonedAfter - age) / 60_000);
      throw new BackupError(
        `${other}. Run the command again when that has ended. If that command was killed, wait ${minutes} minutes.`,
      );
    }
  }
}

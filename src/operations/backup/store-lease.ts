/**
 * Backups and removals keep out of each other's way: a removal must not delete what a backup that is under way has
 * found in the store, and is about to name. Each holds a lease: an object `running/KIND-ID`, which it stores anew every
 * minute.
 */
import { randomUUID } from 'node:crypto';
import { pause } from '../../storage/pause.ts';
import { BackupError, type BackupStore } from './backup-store.ts';

/** Backups do not mind each other. */
export type LeaseKind = 'backup' | 'removal';

const folder = 'running/';
const renewedEvery = 60_000;

/** A lease that was not renewed for so long, in milliseconds, is of work that was killed. */
export const abandonedAfter = 10 * renewedEvery;

/** Work whose lease was not renewed for so long, in milliseconds, gives up: earlier than others count it as killed. */
export const givenUpAfter = abandonedAfter / 2;

/** The lease of work that is under way. */
export interface StoreLease {
  /** Throws BackupError if it was not renewed for too long at any time: other work may have begun then. */
  check(): void;
}

/** Holds a lease while `work` runs. Rejects with BackupError if work of the other kind is under way. */
export async function withStoreLease<T>(
  store: BackupStore,
  kind: LeaseKind,
  work: (lease: StoreLease) => Promise<T>,
  every = renewedEvery,
): Promise<T> {
  const name = `${folder}${kind}-${randomUUID()}`;
  // Not the monotonic clock, which stands still while a machine is suspended.
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
  // First the lease, then the look at others: of two that begin at once, at least one sees the other.
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
    // A lease that is left counts for ten minutes.
    await store.remove(name).catch(() => undefined);
  }
}

async function expectNoOther(store: BackupStore, kind: LeaseKind, own: string): Promise<void> {
  // By the store's clock.
  const now = (await store.find(own))!.storedAt;
  for await (const { name, storedAt } of store.list(folder)) {
    const age = now - storedAt;
    if (age >= abandonedAfter) await store.remove(name);
    else if (!name.startsWith(`${folder}${kind}-`)) {
      const other = kind === 'backup' ? 'Sets are being removed from here' : 'A backup is being taken here';
      const minutes = Math.ceil((abandonedAfter - age) / 60_000);
      throw new BackupError(
        `${other}. Run the command again when that has ended; if it was killed, in ${minutes} minutes.`,
      );
    }
  }
}

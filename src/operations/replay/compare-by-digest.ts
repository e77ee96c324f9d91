/**
 * Compares the read model with its rebuild by digests of partitions. On both sides it reads only rows that have changed
 * since the last comparison.
 */
import type { Difference } from '../../log/compare/differences.ts';
import {
  digestReadModel,
  digestSnapshot,
  type PartitionDigest,
  type ReadModelDigest,
} from '../../log/compare/digest.ts';
import { Snapshot } from '../../log/compare/snapshot.ts';
import { models } from '../../../projections/models.ts';
import type { Rebuild } from './rebuild.ts';

export interface DigestComparison {
  /**
   * The parts of partitions whose digests differ. Only rows that were written since the last comparison get a new
   * digest. If an older row is damaged, its old digest stays, and this comparison does not find the damage.
   */
  readonly differences: readonly Difference[];
  readonly partitions: number;
  /** How many rows of tables were read, on both sides together. */
  readonly rowsRead: number;
}

interface DigestComparisonOptions {
  readonly url: string;
  /** The Postgres schemas of the read model, and of its rebuild. */
  readonly schema: string;
  readonly rebuilt: string;
  readonly signal: AbortSignal;
  readonly snapshotMs?: number;
}

/** Compares while the read model may be in use. Rejects as `digestReadModel` and `Rebuild.bringTo` do. */
export async function compareByDigest(
  rebuilding: Rebuild,
  { url, schema, rebuilt, ...options }: DigestComparisonOptions,
): Promise<DigestComparison> {
  // Read most rows in short snapshots first, so that little is left to read in the last one, at whose offsets both
  // sides are compared.
  const live = await digestReadModel(models, { ...options, url, schema });
  await rebuilding.bringTo(await Snapshot.with(url, schema, (snapshot) => snapshot.progress()));
  const expected = await digestReadModel(models, { ...options, url, schema: rebuilt });
  return Snapshot.with(url, schema, async (snapshot) => {
    await rebuilding.bringTo(await snapshot.progress());
    const last = [
      await Snapshot.with(url, rebuilt, (rebuiltSnapshot) => digestSnapshot(models, rebuiltSnapshot)),
      await digestSnapshot(models, snapshot),
    ] as const;
    return {
      differences: differingParts(...last),
      partitions: last[1].partitions.length,
      rowsRead: [live, expected, ...last].reduce((sum, { rowsRead }) => sum + rowsRead, 0),
    };
  });
}

function differingParts(expected: ReadModelDigest, found: ReadModelDigest): Difference[] {
  const [ofExpected, ofFound] = [expected, found].map(
    ({ partitions }) => new Map(partitions.map((each) => [each.partition, each])),
  );
  return [...new Set([...ofExpected!.keys(), ...ofFound!.keys()])].flatMap((partition) => {
    const [a, b]: (PartitionDigest | undefined)[] = [ofExpected!.get(partition), ofFound!.get(partition)];
    const parts = [...new Set([a, b].flatMap((each) => Object.keys(each?.parts ?? {})))].filter(
      (part) => a?.parts[part] !== b?.parts[part],
    );
    return parts.map((part) => ({
      what: `digest of ${part} in partition ${partition}`,
      expected: a?.parts[part] ?? 'nothing',
      found: b?.parts[part] ?? 'nothing',
    }));
  });
}

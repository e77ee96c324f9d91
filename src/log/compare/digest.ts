/**
 * Digests of a read model. For read models of one partition at one offset, equal digests mean the same as a comparison
 * without differences (compare.ts). So two instances, or a backup and its restoration, can be compared without access
 * to both at once.
 */
import { createHash } from 'node:crypto';
import { engineSections } from '../log.sections.ts';
import type { Models } from '../model.ts';
import { sumBlocks, unitsOfBlocks, type BlockedSection } from './digest-blocks.ts';
import { DigestCache, joinDigest, type KeptDigest } from './digest-cache.ts';
import type { DigestedUnits } from './digested-units.ts';
import { hashed, sum, type Sum } from './row-hashes.ts';
import type { Section } from './section.ts';
import { Snapshot } from './snapshot.ts';

/** How many units are processed together. */
const unitsAtOnce = 500;

export interface PartitionDigest {
  /** -1: rows without a partition, which only a damaged read model has. */
  readonly partition: number;
  /** The offset at which the digest is valid: the next one to project. */
  readonly next: bigint;
  /** SHA-256 of the digests below, in hexadecimal digits. */
  readonly digest: string;
  /** Digests of its parts, by name. They show where two partitions differ. */
  readonly parts: Readonly<Record<string, string>>;
}

export interface ReadModelDigest {
  readonly partitions: readonly PartitionDigest[];
  /** How many rows of tables were read for the digest: rows of the parts that have changed since their last digest. */
  readonly rowsRead: number;
}

interface DigestOptions {
  readonly url: string;
  /** The Postgres schema of the read model. */
  readonly schema: string;
  readonly signal: AbortSignal;
  /** How long a snapshot is used, in milliseconds. */
  readonly snapshotMs?: number;
  /** Called with the number of rows that were read since the last call. */
  readonly onRowsRead?: ((rows: number) => void) | undefined;
}

/**
 * Digests a read model, which may be in use. If one snapshot does not suffice, another continues with the parts that
 * have changed since. So the digest is of the state of the last snapshot. Rejects with NoReadModel, and with the reason
 * of `signal` if it aborts.
 */
export async function digestReadModel(
  models: Models,
  { url, schema, signal, snapshotMs, onRowsRead }: DigestOptions,
): Promise<ReadModelDigest> {
  // Rejects if there is no read model.
  await (await Snapshot.open(url, schema)).close();
  const cache = await DigestCache.open(url, schema);
  try {
    let rowsRead = 0;
    for (;;) {
      signal.throwIfAborted();
      const snapshot = await Snapshot.open(url, schema, snapshotMs);
      try {
        const partitions = await new Digesting(
          models,
          snapshot,
          cache,
          (rows) => {
            signal.throwIfAborted();
            rowsRead += rows;
            onRowsRead?.(rowsRead);
          },
          null,
        ).run();
        if (partitions === null) continue;
        await cache.removeOtherUnits([
          ...unitsOf(models).map(({ query }) => query),
          ...blockedSectionsOf(models).map(unitsOfBlocks),
        ]);
        return { partitions, rowsRead };
      } finally {
        await snapshot.close();
      }
    }
  } finally {
    await cache.close();
  }
}

/**
 * Digests the content of a snapshot, however long that takes; this is fast if `digestReadModel` was called shortly
 * before. The snapshot's schema must have a digest cache (DigestCache.open).
 */
export async function digestSnapshot(models: Models, snapshot: Snapshot): Promise<ReadModelDigest> {
  return digestWithoutKeeping(models, snapshot, null);
}

/**
 * Digests one partition in a snapshot, as `digestSnapshot` does, without reading the others. Returns hexadecimal
 * digits.
 */
export async function digestPartition(models: Models, snapshot: Snapshot, partition: number): Promise<string> {
  return digestOf(await digestWithoutKeeping(models, snapshot, partition), partition);
}

async function digestWithoutKeeping(
  models: Models,
  snapshot: Snapshot,
  partition: number | null,
): Promise<ReadModelDigest> {
  let rowsRead = 0;
  const partitions = await new Digesting(
    models,
    snapshot,
    null,
    (rows) => {
      rowsRead += rows;
    },
    partition,
  ).run();
  if (partitions === null) throw new Error('the snapshot is too old to be digested');
  return { partitions, rowsRead };
}

/** The digest of a partition, in hexadecimal digits. */
export function digestOf({ partitions }: ReadModelDigest, partition: number): string {
  return partitions.find((one) => one.partition === partition)!.digest;
}

interface Unit {
  readonly unit: string;
  readonly partition: number;
  readonly fingerprint: string;
  readonly digest: string | null;
}

class Digesting {
  readonly #models: Models;
  readonly #snapshot: Snapshot;
  readonly #cache: DigestCache | null;
  readonly #onRowsRead: (rows: number) => void;
  /** By partition, then by the name of a part. */
  readonly #parts = new Map<number, Map<string, string>>();
  /** Null: all partitions are digested. */
  readonly #partition: number | null;
  #hasRead = false;

  constructor(
    models: Models,
    snapshot: Snapshot,
    cache: DigestCache | null,
    onRowsRead: (rows: number) => void,
    partition: number | null,
  ) {
    this.#partition = partition;
    this.#models = models;
    this.#snapshot = snapshot;
    this.#cache = cache;
    this.#onRowsRead = onRowsRead;
  }

  /** Null: the snapshot became too old. The next one finds the finished parts in the cache. */
  async run(): Promise<readonly PartitionDigest[] | null> {
    const allUnits = unitsOf(this.#models);
    for (const units of allUnits) {
      if (!(await this.#digestUnits(units))) return null;
    }
    for (const section of blockedSectionsOf(this.#models)) {
      if (!(await this.#digestBlocks({ ...section, query: this.#ofPartition(section) }))) return null;
    }
    // The remaining parts are not cached, so they begin with a young snapshot. By then few cached parts have changed.
    if (this.#cache !== null && this.#hasRead && this.#snapshot.isHalfOld) return null;
    const owned = new Set(allUnits.map(({ owner }) => owner));
    for (const section of sectionsOf(this.#models)) {
      if (!owned.has(section.owner) && section.blocks === undefined)
        await this.#digestSection({ ...section, query: this.#ofPartition(section) });
    }
    return this.#partitions();
  }

  /** The query of a section of partitions or teams, with the rows that are digested. */
  #ofPartition({ owner, query }: Section): string {
    if (this.#partition === null) return query;
    const isOfPartition =
      owner === 'partition'
        ? `partition = ${this.#partition}`
        : `team_id in (select id from teams where partition = ${this.#partition})`;
    return `select * from (${query}) of_all where ${isOfPartition}`;
  }

  async #partitions(): Promise<PartitionDigest[]> {
    const progress = await this.#snapshot.progress();
    const all = [...new Set([...progress.keys(), ...this.#parts.keys()])].toSorted((a, b) => a - b);
    return all.map((partition) => {
      const parts = [...(this.#parts.get(partition) ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
      return { partition, next: progress.get(partition) ?? 0n, digest, parts: Object.fromEntries(parts) };
    });
  }

  async #digestSection(section: Section): Promise<void> {
    const inPartition =
      section.owner === 'partition'
        ? 'part.partition as "partition" from part'
        : 'teams.partition as "partition" from part left join teams on teams.id = part.team_id';
    const rows = await this.#snapshot.query<Sum & { partition: number | null }>(
      `with part as (${hashed(section.query)}) select ${sum}, ${inPartition} group by 2`,
    );
    for (const { sum, partition } of rows)
      this.#add(partition, section.what, createHash('sha256').update(sum).digest('hex'));
  }

  /** Resolves to whether all blocks have been digested. */
  async #digestBlocks(section: BlockedSection): Promise<boolean> {
    const sums = await sumBlocks(section, this.#snapshot, this.#cache, {
      mayRead: () => this.#cache === null || !this.#hasRead || !this.#snapshot.isOld,
      onRead: () => {
        this.#hasRead = true;
      },
    });
    for (const [partition, sum] of sums ?? [])
      this.#add(partition, section.what, createHash('sha256').update(sum).digest('hex'));
    return sums !== null;
  }

  #add(partition: number | null, part: string, digest: string): void {
    const parts = this.#parts.get(partition ?? -1) ?? new Map<string, string>();
    this.#parts.set(partition ?? -1, parts.set(part, digest));
  }

  /** Resolves to whether all units have been digested. */
  async #digestUnits(kind: DigestedUnits): Promise<boolean> {
    const hashes = new Map<number, ReturnType<typeof createHash>>();
    const query = `select units.unit, coalesce(units.partition, -1) as partition, units.fingerprint, kept.digest
    from (${kind.query}) units
      ${joinDigest('units.unit', `''`, 'units.fingerprint')}
      ${this.#partition === null ? '' : `where units.partition = ${this.#partition}`} order by units.unit`;
    for await (const units of inBatches(this.#snapshot.stream<Unit>(query, unitsAtOnce), unitsAtOnce)) {
      const changed = await this.#digestChanged(
        kind,
        units.filter(({ digest }) => digest === null),
      );
      if (changed === null) return false;
      for (const { unit, partition, digest } of units) {
        const hash = hashes.get(partition) ?? createHash('sha256');
        hashes.set(partition, hash.update(unit).update(digest ?? changed.get(unit)!));
      }
    }
    for (const [partition, hash] of hashes) this.#add(partition, `contents of ${kind.what}`, hash.digest('hex'));
    return true;
  }

  async #digestChanged(
    { owner, digest }: DigestedUnits,
    changed: readonly Unit[],
  ): Promise<ReadonlyMap<string, string> | null> {
    if (changed.length === 0) return new Map();
    if (this.#cache !== null && this.#hasRead && this.#snapshot.isOld) return null;
    const ids = changed.map(({ unit }) => unit);
    const rest = await digest(this.#snapshot, ids, this.#cache, (rows) => {
      this.#hasRead = true;
      this.#onRowsRead(rows);
    });
    if (rest === null) return null;
    const hashes = new Map(ids.map((unit) => [unit, createHash('sha256').update(rest.get(unit) ?? '')]));
    for (const section of sectionsOf(this.#models).filter((section) => section.owner === owner)) {
      const rows = await this.#snapshot.query<Sum & { unit: string }>(
        `with part as (${hashed(`select * from (${section.query}) rows where ${owner} = any($1::uuid[])`)})
          select ${sum}, ${owner} as unit from part group by 2`,
        [ids],
      );
      for (const { sum, unit } of rows) hashes.get(unit)!.update(JSON.stringify([section.what, sum]));
    }
    const digests = changed.map(({ unit, fingerprint }): KeptDigest => ({
      unit,
      part: '',
      fingerprint,
      digest: hashes.get(unit)!.digest('hex'),
    }));
    await this.#cache?.keep(digests);
    return new Map(digests.map(({ unit, digest }) => [unit, digest]));
  }
}

function sectionsOf(models: Models): readonly Section[] {
  return [...engineSections, ...Object.values(models).flatMap(({ sections }) => sections)];
}

function unitsOf(models: Models): readonly DigestedUnits[] {
  return Object.values(models).flatMap(({ units }) => units ?? []);
}

function blockedSectionsOf(models: Models): readonly BlockedSection[] {
  return sectionsOf(models).filter((section): section is BlockedSection => section.blocks !== undefined);
}

async function* inBatches<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/**
 * A set is the result of one backup. Its manifest names all its objects, also those that earlier sets stored. The
 * manifest is written last: a set without one does not exist.
 */
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { BackupError, type BackupStore } from './backup-store.ts';
import { manifestSignature, type ManifestKey, type ManifestSignature } from './manifest-key.ts';

const pack = z.string().regex(/^[0-9a-f]{64}$/);
const identifier = z.string().regex(/^[a-z_0-9]+$/);
const offset = z.string().regex(/^[0-9]+$/);

/** Streams of `COPY ... (FORMAT binary)`, each with its number of rows and its packs in order. */
const streams = z.array(z.object({ rows: z.number(), packs: z.array(pack) }));

const columns = z.object({ name: identifier, columns: z.array(identifier) });

/** Rows of a table. */
const tableCopy = columns.extend({ streams });

const partition = z.object({
  /** The next offset to be projected, and the base of versions there (ARCHITECTURE.md, "Invariants" 6). */
  next: offset,
  base: offset,
  logId: z.string().nullable(),
  /** SHA-256 of the record before `next`, in hexadecimal digits. */
  lastHash: z.string().nullable(),
  /** The digest of the partition's rows in the read model (src/log/compare/digest.ts). */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  /**
   * The rows of this partition in the read model. `width` is the number of values of the key's first column that a
   * stream covers; null: there is one stream.
   */
  tables: z.array(z.object({ name: identifier, width: z.number().nullable(), streams })),
  /**
   * The records from offset 0 up to `next` (exclusive): the first offset of each pack, and its bytes before
   * compression. Null if the set has no records.
   */
  records: z.array(z.object({ first: offset, pack, bytes: z.number() })).nullable(),
});

const manifest = z.object({
  format: z.literal(2),
  /** When the backup began, in milliseconds since 1970. */
  takenAt: z.number(),
  /** How long the longest snapshot was open, in milliseconds. Each partition has its own. */
  snapshotMs: z.number(),
  /** The Postgres schema of the read model. Its name contains the number of the shape. */
  readModel: identifier,
  /** The tables of the read model. Their rows are in `partitions`. */
  tables: z.array(columns),
  /** The last value of the sequence `local_keys`. */
  localKeys: offset,
  partitions: z.array(partition),
  /** Tables outside of the log and the read model. */
  notes: z.array(tableCopy.extend({ schema: identifier })),
  /** The object with the encrypted signing keys; null if they were left out. */
  keys: z.string().nullable(),
  /** Packs with a line of name and size for each uploaded file. `kept`: whether the store has the files' bytes. */
  files: z.object({ count: z.number(), bytes: z.number(), kept: z.boolean(), names: z.array(pack) }),
});

/** The format of sets before manifests were signed. They have the read model as a whole, not by partition. */
const formerManifest = manifest
  .extend({
    format: z.literal(1),
    tables: z.array(tableCopy),
    partitions: z.array(
      partition
        .omit({ tables: true, records: true })
        .extend({ records: z.array(z.object({ first: offset, pack })).nullable() }),
    ),
  })
  .transform(({ tables, partitions, ...rest }): Manifest => ({
    ...rest,
    format: 2,
    tables: tables.map(({ name, columns: names }) => ({ name, columns: names })),
    partitions: partitions.map(({ records, ...one }, at) => ({
      ...one,
      tables: at === 0 ? tables.map(({ name, streams: of }) => ({ name, width: null, streams: of })) : [],
      // 0 bytes make the next backup write these records anew.
      records: records?.map((record) => ({ ...record, bytes: 0 })) ?? null,
    })),
  }));

export type Manifest = z.output<typeof manifest>;
export type TableBackup = z.output<typeof tableCopy>;
export type PartitionBackup = z.output<typeof partition>;
export type TableOfPartition = PartitionBackup['tables'][number];

/** A complete set. IDs are in the order in which the sets were taken. */
export interface BackupSet {
  readonly id: string;
  readonly manifest: Manifest;
  /** Null: the set is not signed. */
  readonly signature: ManifestSignature | null;
  /** The text that was signed: the manifest as JSON without its signature. */
  readonly signedText: string;
}

const folder = 'sets/';

function idOf(takenAt: number, content: string): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  return `${new Date(takenAt).toISOString().replace(/[-:.]/g, '')}-${hash}`;
}

/**
 * Writes the manifest, which completes the set, and signs it with `key` unless that is null. Resolves to the ID of the
 * set.
 */
export async function writeManifest(store: BackupStore, written: Manifest, key: ManifestKey | null): Promise<string> {
  const signature = key === null ? null : await key.sign(JSON.stringify(written));
  const content = Buffer.from(JSON.stringify(signature === null ? written : { ...written, signature }));
  const id = idOf(written.takenAt, content.toString());
  await store.put(`${folder}${id}.json`, content, content.length);
  return id;
}

/** The IDs of all sets, oldest first. */
export async function listSets(store: BackupStore): Promise<string[]> {
  const ids: string[] = [];
  for await (const { name } of store.list(folder)) {
    const id = /^sets\/(\d{8}T\d{9}Z-[0-9a-f]{16})\.json$/.exec(name)?.[1];
    if (id !== undefined) ids.push(id);
  }
  return ids.toSorted();
}

/**
 * Reads a set without checking its signature (see `checkSignature`). Rejects with BackupError if there is no set with
 * this ID, or if its manifest is damaged or of an unknown format.
 */
export async function readSet(store: BackupStore, id: string): Promise<BackupSet> {
  const stream = await store.read(`${folder}${id}.json`);
  if (stream === null) throw new BackupError(`There is no set ${id}.`);
  const content = await text(stream);
  const read = parseJson(content);
  const takenAt = read?.['takenAt'];
  if (
    read === null ||
    typeof takenAt !== 'number' ||
    Number.isNaN(new Date(takenAt).valueOf()) ||
    id !== idOf(takenAt, content)
  )
    throw new BackupError(`The manifest of set ${id} is damaged.`);
  const { signature = null, ...signed } = read;
  const parsed = z
    .object({ manifest: z.union([manifest, formerManifest]), signature: manifestSignature.nullable() })
    .safeParse({ manifest: signed, signature });
  if (!parsed.success)
    throw new BackupError(`Another version of Tablog wrote the manifest of set ${id}: use that version to read it.`, {
      cause: parsed.error,
    });
  return { id, ...parsed.data, signedText: JSON.stringify(signed) };
}

/** Null if the text is not JSON of an object. */
function parseJson(content: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** Rejects with BackupError unless the set has a valid signature of this key. */
export async function checkSignature({ id, signature, signedText }: BackupSet, key: ManifestKey): Promise<void> {
  if (signature === null)
    throw new BackupError(`Set ${id} is not signed: anybody who can write to the backups may have made it.`);
  if (await key.signed(signedText, signature)) return;
  throw new BackupError(
    `Set ${id} is not signed with this passphrase: the passphrase is wrong, or somebody changed the manifest.`,
  );
}

/** The newest set; null if there is none. Rejects with BackupError if it is damaged. */
export async function readNewestSet(store: BackupStore): Promise<BackupSet | null> {
  const id = (await listSets(store)).at(-1);
  return id === undefined ? null : readSet(store, id);
}

/**
 * The newest set that the next backup can build on; null if there is none. The set must be signed with `key`; null: no
 * signature is checked. Calls `onUnusable` for each newer set that cannot be used.
 */
export async function readNewestUsableSet(
  store: BackupStore,
  key: ManifestKey | null,
  onUnusable: (problem: BackupError) => void,
): Promise<BackupSet | null> {
  for (const id of (await listSets(store)).toReversed()) {
    try {
      const set = await readSet(store, id);
      if (key !== null) await checkSignature(set, key);
      return set;
    } catch (error) {
      if (!(error instanceof BackupError)) throw error;
      onUnusable(error);
    }
  }
  return null;
}

export async function removeManifest(store: BackupStore, id: string): Promise<void> {
  await store.remove(`${folder}${id}.json`);
}

/** Yields the tables of the read model, once for each partition that has rows of the table. */
export function* readModelCopies({
  tables,
  partitions,
}: Pick<Manifest, 'tables' | 'partitions'>): Generator<TableBackup> {
  const columnsOf = new Map(tables.map(({ name, columns: names }) => [name, names]));
  for (const one of partitions)
    for (const { name, streams: of } of one.tables) yield { name, columns: columnsOf.get(name) ?? [], streams: of };
}

/** How much a set contains. Every command that shows such a number takes it from here. */
export interface SetCounts {
  /** Events that the read model was built from. The set has their records, unless it was taken with `--no-log`. */
  readonly events: number;
  /**
   * Stored rows of tables and stashes, including rows that nobody can read any more but garbage collection has not
   * removed yet. Patches of rows do not count.
   */
  readonly rows: number;
  /** Distinct packs that the set names, also packs that earlier backups stored. */
  readonly packs: number;
  /** Uploaded files that the set names. */
  readonly files: number;
}

export function countsOf(set: Manifest): SetCounts {
  const rows = [...readModelCopies(set)].filter(({ name }) => name === 'segment_rows').flatMap(({ streams: of }) => of);
  return {
    events: set.partitions.reduce((sum, { next }) => sum + Number(next), 0),
    rows: rows.reduce((sum, stream) => sum + stream.rows, 0),
    packs: new Set(packsOf(set)).size,
    files: set.files.count,
  };
}

/** The IDs of all packs that a set names, with repetitions. */
export function* packsOf({
  notes,
  partitions,
  files,
}: Pick<Manifest, 'notes' | 'partitions' | 'files'>): Generator<string> {
  for (const { streams: of } of [...partitions.flatMap(({ tables }) => tables), ...notes])
    for (const { packs } of of) yield* packs;
  for (const { records } of partitions) for (const { pack: id } of records ?? []) yield id;
  yield* files.names;
}

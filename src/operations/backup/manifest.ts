/**
 * A set: what one backup is made of. Its manifest names all that belongs to it, also what was stored with earlier sets,
 * and is written last: without it there is no set.
 */
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { BackupError, type BackupStore } from './backup-store.ts';
import { manifestSignature, type ManifestKey, type ManifestSignature } from './manifest-key.ts';

const pack = z.string().regex(/^[0-9a-f]{64}$/);
const identifier = z.string().regex(/^[a-z_0-9]+$/);
const offset = z.string().regex(/^[0-9]+$/);

/** Streams of `COPY ... (FORMAT binary)`, and how many rows each has. */
const streams = z.array(z.object({ rows: z.number(), packs: z.array(pack) }));

const columns = z.object({ name: identifier, columns: z.array(identifier) });

/** Rows of a table. */
const tableCopy = columns.extend({ streams });

const partition = z.object({
  /** Up to where the read model is projected, and with which base (ARCHITECTURE.md, "Invariants" 6). */
  next: offset,
  base: offset,
  logId: z.string().nullable(),
  /** SHA-256 of the record before `next`, in hexadecimal digits. */
  lastHash: z.string().nullable(),
  /** Of the rows of the read model (src/log/compare/digest.ts). */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  /**
   * The rows of the read model that are of this partition. `width`: how many values of the key's first column a stream
   * covers; null: there is one stream.
   */
  tables: z.array(z.object({ name: identifier, width: z.number().nullable(), streams })),
  /**
   * The records from 0 to `next`: where each pack begins, and its bytes before they are compressed. Null if the set
   * does not hold them.
   */
  records: z.array(z.object({ first: offset, pack, bytes: z.number() })).nullable(),
});

const manifest = z.object({
  format: z.literal(2),
  /** When the backup began, in milliseconds since 1970. */
  takenAt: z.number(),
  /** For how long its longest snapshot was open, in milliseconds. Each partition has one. */
  snapshotMs: z.number(),
  /** The Postgres schema of the read model, which says its shape. */
  readModel: identifier,
  /** The tables of the read model, whose rows the partitions have. */
  tables: z.array(columns),
  /** The next of the local keys. */
  localKeys: offset,
  partitions: z.array(partition),
  /** Tables beside the log and the read model, by their schema. */
  notes: z.array(tableCopy.extend({ schema: identifier })),
  /** The object with the encrypted signing keys; null if they were left out. */
  keys: z.string().nullable(),
  /** Lines of names and sizes of uploaded files; whether the store has their bytes. */
  files: z.object({ count: z.number(), bytes: z.number(), kept: z.boolean(), names: z.array(pack) }),
});

/** Sets from before manifests were signed: the read model was copied as a whole. */
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
      // The next backup writes these anew.
      records: records?.map((record) => ({ ...record, bytes: 0 })) ?? null,
    })),
  }));

export type Manifest = z.output<typeof manifest>;
export type TableCopy = z.output<typeof tableCopy>;
export type PartitionCopy = z.output<typeof partition>;
export type TableOfPartition = PartitionCopy['tables'][number];

/** A complete set. IDs are in the order in which the sets were taken. */
export interface BackupSet {
  readonly id: string;
  readonly manifest: Manifest;
  /** Null: it is not signed. */
  readonly signature: ManifestSignature | null;
  /** What the signature is of. */
  readonly signedText: string;
}

const folder = 'sets/';

function idOf(takenAt: number, content: string): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  return `${new Date(takenAt).toISOString().replace(/[-:.]/g, '')}-${hash}`;
}

/**
 * Writes the manifest, which completes the set. `key`: signs it; null: it is not signed. Resolves to the ID of the set.
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
 * Reads a set, without a look at its signature (`checkSignature`). Rejects with BackupError if there is none of this
 * ID, or its manifest is damaged.
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
    throw new BackupError(`The manifest of set ${id} is of another version of the software.`, { cause: parsed.error });
  return { id, ...parsed.data, signedText: JSON.stringify(signed) };
}

/** Null if it is not the JSON of an object. */
function parseJson(content: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** Rejects with BackupError unless the set was signed with this key and is as it was then. */
export async function checkSignature({ id, signature, signedText }: BackupSet, key: ManifestKey): Promise<void> {
  if (signature === null)
    throw new BackupError(`Set ${id} is not signed: whoever can write to the backups may have made it.`);
  if (await key.signed(signedText, signature)) return;
  throw new BackupError(
    `Set ${id} is not signed with this passphrase: the passphrase is another one, or the manifest was changed.`,
  );
}

/** The newest set; null if there is none. Rejects with BackupError if it is damaged. */
export async function readNewestSet(store: BackupStore): Promise<BackupSet | null> {
  const id = (await listSets(store)).at(-1);
  return id === undefined ? null : readSet(store, id);
}

/**
 * The newest set that can be used for the next backup; null if there is none. `key`: by which it must be signed; null:
 * no signature is checked. `onUnusable` is told of newer ones.
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

/** A table of the read model with some of its rows. */
export function* readModelCopies({
  tables,
  partitions,
}: Pick<Manifest, 'tables' | 'partitions'>): Generator<TableCopy> {
  const columnsOf = new Map(tables.map(({ name, columns: names }) => [name, names]));
  for (const one of partitions)
    for (const { name, streams: of } of one.tables) yield { name, columns: columnsOf.get(name) ?? [], streams: of };
}

/** How much a set has. Each command that shows one of these numbers takes it from here. */
export interface SetCounts {
  /** Events that its read model is made of. Their records are in the set, unless it was taken without (`--no-log`). */
  readonly events: number;
  /**
   * Stored rows of tables and stashes, also those that nobody can read any more and that garbage collection has not yet
   * removed. Not the patches of rows.
   */
  readonly rows: number;
  /** Different packs that it names, whichever backup stored them. */
  readonly packs: number;
  /** Uploaded files that it names. */
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

/** All packs that a set names. */
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

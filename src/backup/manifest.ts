/**
 * A set: what one backup is made of. Its manifest names all that belongs to it, also what was stored with earlier sets, and is written
 * last: without it there is no set.
 */
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { BackupError, type BackupStore } from './backup-store.ts';

const pack = z.string().regex(/^[0-9a-f]{64}$/);
const identifier = z.string().regex(/^[a-z_0-9]+$/);
const offset = z.string().regex(/^[0-9]+$/);

const tableCopy = z.object({
  name: identifier,
  columns: z.array(identifier),
  /** How many values of the key's first column a stream covers; null: the table is one stream. */
  width: z.number().nullable(),
  /** Streams of `COPY ... (FORMAT binary)`, and how many rows each has. */
  streams: z.array(z.object({ rows: z.number(), packs: z.array(pack) })),
});

const partition = z.object({
  /** Up to where the read model is projected, and with which base (ARCHITECTURE.md, "Invariants" 6). */
  next: offset,
  base: offset,
  logId: z.string().nullable(),
  /** SHA-256 of the record before `next`, in hexadecimal digits. */
  lastHash: z.string().nullable(),
  /** Of the rows of the read model (projections/engine/compare/digest.ts). */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  /** The records from 0 to `next`: where each pack begins, and its bytes before they are compressed. Null if the set does not hold them. */
  records: z.array(z.object({ first: offset, pack, bytes: z.number() })).nullable(),
});

const manifest = z.object({
  format: z.literal(1),
  /** When the snapshot was taken, in milliseconds since 1970. */
  takenAt: z.number(),
  /** For how long the snapshot was open, in milliseconds. */
  snapshotMs: z.number(),
  /** The Postgres schema of the read model, which says its shape. */
  readModel: identifier,
  /** Of the read model. */
  tables: z.array(tableCopy),
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

export type Manifest = z.output<typeof manifest>;
export type TableCopy = z.output<typeof tableCopy>;
export type PartitionCopy = z.output<typeof partition>;

/** A complete set. IDs are in the order in which the sets were taken. */
export interface BackupSet {
  readonly id: string;
  readonly manifest: Manifest;
}

const folder = 'sets/';

function hashOf(content: string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

/** Writes the manifest, which completes the set. Resolves to the ID of the set. */
export async function writeManifest(store: BackupStore, written: Manifest): Promise<string> {
  const content = Buffer.from(JSON.stringify(written));
  const id = `${new Date(written.takenAt).toISOString().replace(/[-:.]/g, '')}-${hashOf(content.toString())}`;
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

/** Reads a set. Rejects with BackupError if there is none of this ID, or its manifest is damaged. */
export async function readSet(store: BackupStore, id: string): Promise<BackupSet> {
  const stream = await store.read(`${folder}${id}.json`);
  if (stream === null) throw new BackupError(`There is no set ${id}.`);
  const content = await text(stream);
  if (!id.endsWith(`-${hashOf(content)}`)) throw new BackupError(`The manifest of set ${id} is damaged.`);
  const parsed = manifest.safeParse(JSON.parse(content));
  if (!parsed.success) throw new BackupError(`The manifest of set ${id} is of another version of the software.`, { cause: parsed.error });
  return { id, manifest: parsed.data };
}

/** The newest set; null if there is none. Rejects with BackupError if it is damaged. */
export async function readNewestSet(store: BackupStore): Promise<BackupSet | null> {
  const id = (await listSets(store)).at(-1);
  return id === undefined ? null : readSet(store, id);
}

/** The newest set that can be read; null if there is none. `onUnreadable` is told of newer ones. */
export async function readNewestReadableSet(store: BackupStore, onUnreadable: (problem: BackupError) => void): Promise<BackupSet | null> {
  for (const id of (await listSets(store)).toReversed()) {
    try {
      return await readSet(store, id);
    } catch (error) {
      if (!(error instanceof BackupError)) throw error;
      onUnreadable(error);
    }
  }
  return null;
}

export async function removeManifest(store: BackupStore, id: string): Promise<void> {
  await store.remove(`${folder}${id}.json`);
}

/** All packs that a set names. */
export function* packsOf({ tables, notes, partitions, files }: Manifest): Generator<string> {
  for (const { streams } of [...tables, ...notes]) for (const { packs } of streams) yield* packs;
  for (const { records } of partitions) for (const { pack: id } of records ?? []) yield id;
  yield* files.names;
}

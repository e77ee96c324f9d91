/**
 * Loads the stashes that events name, the chunks that they replace, and for an import the whole content of the stash.
 */
import type { Tx } from '../../src/storage/database/pipelined-client.ts';
import { importedStash, stashOf, teamOf } from '../../src/language/events/event-names.ts';
import type { Event } from '../../src/language/events/event.ts';
import type { Loading } from '../../src/log/model.ts';
import { defaultColumnsMax, StashContentBuilder, type StashContent } from './stash-content.ts';
import { compareSerials } from './stash-order.ts';
import type { Chunk, Stash } from './stash.ts';
import type { StashStates } from './stashes.state.ts';
import { findBlocks, findChunks, findStashes, nameOfStash, type ChunkName, type StashName } from './stashes.store.ts';

type LoadingStashes = Loading<StashStates, null, null>;

export async function loadStashes({ tx, events, states: { stashes }, before }: LoadingStashes): Promise<void> {
  const names = new Map<string, StashName>();
  const chunks = new Map<string, ChunkName>();
  for (const { data } of events) {
    const stashId = stashOf(data);
    if (stashId === null) continue;
    const teamId = teamOf(data);
    const known = stashes.stash(teamId, stashId) ?? before?.stashes.stash(teamId, stashId);
    if (known) stashes.put(known);
    else names.set(nameOfStash(teamId, stashId), { teamId, stashId });
    if (data.type !== 'ChunkPutRequested') continue;
    const { serial } = data;
    const chunk = known && (stashes.chunk(known.key, serial) ?? before?.stashes.chunk(known.key, serial));
    if (chunk) stashes.putChunk(chunk);
    else chunks.set(`${nameOfStash(teamId, stashId)} ${serial}`, { teamId, stashId, serial });
  }
  const [foundStashes, foundChunks] = await Promise.all([
    names.size === 0 ? [] : findStashes(tx, [...names.values()]),
    chunks.size === 0 ? [] : findChunks(tx, [...chunks.values()]),
  ]);
  for (const stash of foundStashes) stashes.put(stash);
  for (const chunk of foundChunks) stashes.putChunk(chunk);
}

/**
 * Loads the content of every imported stash, and reserves a key per segment, because each import makes an extent of
 * each.
 */
export async function loadStashContents({
  tx,
  events,
  states: { stashes },
  before,
  keys,
}: LoadingStashes): Promise<void> {
  for (const event of events) {
    const stashId = importedStash(event.data);
    const stash = stashId === null ? null : stashes.stash(teamOf(event.data), stashId);
    if (stash === null || stash.endedAt !== null) continue;
    const newChunks = [...(before?.stashes.newChunksOf(stash.key) ?? []), ...stashes.newChunksOf(stash.key)];
    const content = await readContent(
      tx,
      stash,
      new Map(newChunks.map((chunk) => [chunk.serial, chunk])),
      columnsMaxOf(event),
    );
    stashes.putContent(stash.key, content);
    await keys.reserve(tx, content.segments.length);
  }
}

function columnsMaxOf({ data }: Event): number {
  return (
    ('limits' in data && 'stashColumnsMax' in data.limits ? data.limits.stashColumnsMax : undefined) ??
    defaultColumnsMax
  );
}

/** `unseen`: the chunks that queries cannot see yet, by serial. They replace stored chunks. */
async function readContent(
  tx: Tx,
  stash: Stash,
  unseen: ReadonlyMap<string, Chunk>,
  columnsMax: number,
): Promise<StashContent> {
  const asNumbers = stash.words === 0;
  const builder = new StashContentBuilder(columnsMax);
  const waiting = [...unseen.values()].sort((a, b) => compareSerials(b.serial, a.serial, asNumbers));
  const addWhile = (isNext: (serial: string) => boolean): void => {
    while (waiting.length > 0 && isNext(waiting.at(-1)!.serial)) {
      const { serial, blocks } = waiting.pop()!;
      for (const block of blocks) builder.add(serial, block);
    }
  };
  for await (const block of findBlocks(tx, stash.key, asNumbers)) {
    if (unseen.has(block.serial)) continue;
    addWhile((serial) => compareSerials(serial, block.serial, asNumbers) < 0);
    builder.add(block.serial, block);
    if (builder.hasTooManyColumns) break;
  }
  addWhile(() => true);
  return builder.build();
}

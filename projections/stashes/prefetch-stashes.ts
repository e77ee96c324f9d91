/** What a batch needs to know of stashes: what they count, what is under the serials that come, and all that an import takes. */
import type { PipelinedClient } from '../../src/database/pipelined-client.ts';
import type { BatchMemory } from '../batch-memory.ts';
import type { BatchState } from '../batch-state.ts';
import type { Chunk, Stash } from '../decision.ts';
import { StashContentBuilder, type StashContent } from './stash-content.ts';
import { compareSerials } from './stash-order.ts';
import { findBlocks, findChunks, findStashes, type ChunkName, type StashName } from './stashes.store.ts';

type Tx = Pick<PipelinedClient, 'query'>;

/** Puts the stashes of these names, and what is under these serials, into the state. */
export async function prefetchStashes(
  tx: Tx,
  names: readonly StashName[],
  chunks: readonly ChunkName[],
  state: BatchState,
  memory: BatchMemory | null,
): Promise<void> {
  const missing = names.filter(({ teamId, stashId }) => {
    const stash = state.stash(teamId, stashId) ?? memory?.last?.stash(teamId, stashId);
    if (stash) state.putStash(stash);
    return !stash;
  });
  const unknown = chunks.filter(({ teamId, stashId, serial }) => {
    const stash = state.stash(teamId, stashId);
    const chunk = stash && (state.chunk(stash.key, serial) ?? memory?.last?.chunk(stash.key, serial));
    if (chunk) state.putChunk(chunk);
    return !chunk;
  });
  const [stashes, found] = await Promise.all([
    missing.length === 0 ? [] : findStashes(tx, missing),
    unknown.length === 0 ? [] : findChunks(tx, unknown),
  ]);
  for (const stash of stashes) state.putStash(stash);
  for (const chunk of found) state.putChunk(chunk);
}

/**
 * Puts all that these stashes hold into the state, as far as they are there. To be called when the state has them.
 * Gives how many segments they have.
 */
export async function prefetchStashContents(
  tx: Tx,
  names: readonly StashName[],
  state: BatchState,
  memory: BatchMemory | null,
): Promise<number> {
  let segments = 0;
  for (const { teamId, stashId } of names) {
    const stash = state.stash(teamId, stashId);
    if (stash === null || stash.endedAt !== null) continue;
    const unseen = new Map<string, Chunk>();
    for (const chunk of [...(memory?.last?.newChunks(stash.key) ?? []), ...state.newChunks(stash.key)]) unseen.set(chunk.serial, chunk);
    const content = await readContent(tx, stash, unseen);
    state.putStashContent(stash.key, content);
    segments += content.segments.length;
  }
  return segments;
}

/** `unseen`: the chunks that are newer than what can be fetched, by serial. */
async function readContent(tx: Tx, stash: Stash, unseen: ReadonlyMap<string, Chunk>): Promise<StashContent> {
  const asNumbers = stash.words === 0;
  const builder = new StashContentBuilder();
  const waiting = [...unseen.values()].sort((a, b) => compareSerials(b.serial, a.serial, asNumbers));
  const addWhile = (isNext: (serial: string) => boolean): void => {
    while (waiting.length > 0 && isNext(waiting.at(-1)!.serial)) {
      const { serial, blocks } = waiting.pop()!;
      for (const block of blocks) builder.add(serial, block);
    }
  };
  for await (const blocks of findBlocks(tx, stash.key, asNumbers)) {
    for (const block of blocks) {
      if (unseen.has(block.serial)) continue;
      addWhile((serial) => compareSerials(serial, block.serial, asNumbers) < 0);
      builder.add(block.serial, block);
    }
  }
  addWhile(() => true);
  return builder.build();
}

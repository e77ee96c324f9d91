/** Stashes: rows that are collected in chunks, and imported into tables in one step. */
import type { Model } from '../../src/log/model.ts';
import { storing } from '../../src/storage/database/rows-statement.ts';
import type { OpenBodyChange } from '../segments/body-block.ts';
import { closingBody } from '../segments/decide-open-body.ts';
import { decideDeleteStash, decideStashExpired } from './decide-end-stash.ts';
import { decidePutChunk } from './decide-put-chunk.ts';
import { loadStashContents, loadStashes } from './load-stashes.ts';
import { ChunkBlockEntity, StashEntity } from './stash.entity.ts';
import { stashGarbage } from './stashes.garbage.ts';
import { stashSections } from './stashes.sections.ts';
import type { ChunkChange, StashChange } from './stash.ts';
import { StashQueries } from './stashes.queries.ts';
import { StashesState, type StashStates } from './stashes.state.ts';
import { chunkBlockRows, endChunks, insertChunkBlocks, insertStashes, updateStashes } from './stashes.store.ts';
import { importedStash } from '../../src/language/events/event-names.ts';

export const stashes: Model<
  StashesState,
  StashStates,
  StashChange | ChunkChange | OpenBodyChange,
  null,
  null,
  StashQueries
> = {
  entities: [StashEntity, ChunkBlockEntity],
  storage: [
    'create index stashes_to_clear on stashes (key) where ended_at is not null and not cleared',
    'create index stashes_to_forget on stashes (ended_at) where cleared',
    'create index stashes_to_expire on stashes (expires_at) where ended_at is null',
    'create index chunk_blocks_replaced on chunk_blocks (chunk) where stash is null',
  ],
  decisions: {
    ChunkPutRequested: closingBody(decidePutChunk),
    StashDeleteRequested: decideDeleteStash,
    StashExpired: decideStashExpired,
  },
  changes: {
    stash: ({ stashes }, { stash }) => stashes.change(stash),
    chunk: ({ stashes }, change) => stashes.changeChunk(change),
  },
  open: (newKey, journal) => new StashesState(newKey, journal),
  // One for the chunk, and one for the stash that it may create.
  keysAtMost: ({ type }) => (type === 'ChunkPutRequested' ? 2 : 0),
  load: loadStashes,
  loadMore: loadStashContents,
  store: (state) => [
    ...storing(state.newStashes(), insertStashes),
    ...storing(state.changedStashes(), updateStashes),
    ...storing(state.newChunks().flatMap(chunkBlockRows), insertChunkBlocks),
    ...storing(
      state.replacedChunks.map((chunk) => ({ chunk })),
      endChunks,
    ),
  ],
  loadsMuch: (data) => importedStash(data) !== null,
  queries: (database) => new StashQueries(database),
  sections: stashSections,
  garbage: stashGarbage,
};

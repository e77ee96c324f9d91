/** Stashes, which collect rows before an import. */
import { stashLimits } from '../../../commands/limits.ts';
import { addStashRoutes } from '../../api/http/stashes/stashes.ts';
import { expireStashes } from '../../operations/maintenance/expire-stashes.ts';
import type { Feature } from '../feature.ts';

export const stashesFeature: Feature = ({ config, database, log, queries, submitter, receiver }) => ({
  routes: (app) =>
    addStashRoutes(app, {
      submitter,
      receiver,
      stashes: queries.stashes,
      log,
      stashLimits: stashLimits({
        lifeMs: config.STASH_LIFE_MS,
        chunksMax: config.STASH_CHUNKS_MAX,
        rowsMax: config.STASH_ROWS_MAX,
        stashesMax: config.STASHES_MAX,
      }),
      bodyBytesMax: config.BODY_SIZE_MAX_BYTES,
    }),
  maintenance: [{ name: 'expire_stashes', repeats: true, step: () => expireStashes(database, log) }],
});

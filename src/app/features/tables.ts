/** Tables and their rows. */
import { rowLimits, tableLimits } from '../../../commands/limits.ts';
import { CopyQueries } from '../../../projections/tables/copies.queries.ts';
import { convertExtent, mergeExtents } from '../../../projections/tables/compaction.ts';
import { UnconvertibleExtents } from '../../../projections/tables/unconvertible-extents.ts';
import { addRowRoutes } from '../../api/http/rows/rows.ts';
import { ColumnTrials } from '../../api/http/tables/column-trials.ts';
import { KeyPreparations } from '../../api/http/tables/key-preparations.ts';
import { addTableRoutes } from '../../api/http/tables/tables.ts';
import { expireBodies } from '../../operations/maintenance/expire-bodies.ts';
import type { Feature } from '../feature.ts';

export const tablesFeature: Feature = (parts) => {
  const { config, database, log, queries } = parts;
  const copies = new CopyQueries(database);
  const unconvertible = new UnconvertibleExtents();
  return {
    routes: (app) => {
      const dependencies = {
        ...parts,
        ...queries.tables,
        limits: rowLimits(config.ROWS_PER_TABLE_MAX),
        tableLimits: tableLimits(config.ROWS_PER_TABLE_MAX, config.TABLES_MAX),
        bodyBytesMax: config.BODY_SIZE_MAX_BYTES,
        trials: new ColumnTrials(copies),
        preparations: new KeyPreparations(database, copies),
      };
      addTableRoutes(app, dependencies);
      addRowRoutes(app, dependencies);
    },
    maintenance: [
      { name: 'convert_rows', repeats: true, step: () => convertExtent(database, unconvertible) },
      { name: 'merge_segments', repeats: true, step: () => mergeExtents(database) },
      {
        name: 'expire_bodies',
        repeats: false,
        step: async () => {
          await expireBodies(database, log);
          return false;
        },
      },
    ],
  };
};

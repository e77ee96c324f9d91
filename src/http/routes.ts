/** All routes of the interface, and what they are made of. */
import type { PageQueries } from '../../projections/tables/pages.queries.ts';
import type { RowQueries } from '../../projections/tables/rows.queries.ts';
import type { TableQueries } from '../../projections/tables/tables.queries.ts';
import type { RowLimits, StashLimits } from '../events/event.ts';
import type { App } from './app.ts';
import type { Gate } from './gate.ts';
import type { Jobs } from './jobs.ts';
import type { RateLimits } from './rate-limits.ts';
import { smallBodyBytesMax, type RowReceiver } from './receive-rows.ts';
import { isBodyWithin } from './request-body.ts';
import { addFileRoutes } from './routes/files.ts';
import { addJobRoutes } from './routes/jobs.ts';
import { addRowRoutes } from './routes/rows.ts';
import { addStashRoutes } from './routes/stashes.ts';
import { addTableRoute } from './routes/table.ts';
import { addTableRoutes } from './routes/tables.ts';
import { addUploadBytesRoute, type UploadBytesDependencies } from './routes/upload-bytes.ts';
import { addUploadRoutes, type UploadDependencies } from './routes/uploads.ts';
import type { Submitter } from './submitter.ts';

export interface RouteDependencies extends UploadDependencies {
  readonly submitter: Submitter;
  readonly tables: TableQueries;
  readonly rows: RowQueries;
  readonly pages: PageQueries;
  readonly jobs: Jobs;
  readonly receiver: RowReceiver;
  /** Bounds how many large bodies are read at once, and so the memory they take. */
  readonly gate: Gate;
  /** Null where teams are not limited in what they ask for. */
  readonly rateLimits: RateLimits | null;
  readonly limits: RowLimits;
  readonly stashLimits: StashLimits;
  readonly bodyBytesMax: number;
  /** Rejects while the read model is not at the end of its log: for routes that ask for no token. */
  readonly requireReadModel: () => Promise<void>;
  /** Null where the bytes of uploads go elsewhere. */
  readonly uploadBytes: UploadBytesDependencies | null;
}

export function addRoutes(app: App, dependencies: RouteDependencies): void {
  app.addHook('preHandler', (request, _reply, done) => {
    const isProbe = request.routeOptions.config.public === true;
    if (!isProbe && isBodyWithin(smallBodyBytesMax, request.raw)) dependencies.receiver.turns.giveWay();
    done();
  });
  dependencies.rateLimits?.addTo(app);
  addTableRoutes(app, dependencies);
  addTableRoute(app, dependencies);
  addRowRoutes(app, dependencies);
  addStashRoutes(app, dependencies);
  addUploadRoutes(app, dependencies);
  if (dependencies.uploadBytes !== null) addUploadBytesRoute(app, dependencies);
  addFileRoutes(app, dependencies);
  addJobRoutes(app, dependencies);
}

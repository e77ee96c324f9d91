/** All routes of the interface, and their dependencies. */
import type { App } from './server/app-type.ts';
import type { DiskFloor } from './limits/disk-floor.ts';
import type { RateLimits } from './limits/rate-limits.ts';
import { smallBodyBytesMax, type RowReceiver } from './bodies/receive-rows.ts';
import { isBodyWithin } from './bodies/request-body.ts';
import { addExportRoutes, type ExportsRouteDependencies } from './exports/export-table.ts';
import { addJobRoutes, type JobsRouteDependencies } from './jobs/jobs.ts';
import { addOperatorsRoutes, type OperatorsRouteDependencies } from './operators/operators.ts';
import { addQueryRoutes, type QueriesRouteDependencies } from './queries/queries.ts';
import { addRowRoutes, type RowsRouteDependencies } from './rows/rows.ts';
import { addStashRoutes, type StashesRouteDependencies } from './stashes/stashes.ts';
import { addTableRoutes, type TablesRouteDependencies } from './tables/tables.ts';
import { addTeamRoutes, type TeamRouteDependencies } from './team/team.ts';
import { addFileRoutes, type FilesRouteDependencies } from './uploads/files.ts';
import { addUploadBytesRoute, type UploadBytesDependencies } from './uploads/upload-bytes.ts';
import { addUploadRoutes, type UploadsRouteDependencies } from './uploads/uploads.ts';

/** The dependencies of all routes. */
export type RouteDependencies = TablesRouteDependencies &
  RowsRouteDependencies &
  QueriesRouteDependencies &
  ExportsRouteDependencies &
  StashesRouteDependencies &
  UploadsRouteDependencies &
  FilesRouteDependencies &
  JobsRouteDependencies &
  TeamRouteDependencies &
  OperatorsRouteDependencies & {
    readonly receiver: RowReceiver;
    readonly rateLimits: RateLimits | null;
    /** Null if nothing is refused for want of disk space. */
    readonly diskFloor: DiskFloor | null;
    /** Null if the bytes of uploads are sent elsewhere. */
    readonly uploadBytes: UploadBytesDependencies | null;
  };

export function addRoutes(app: App, dependencies: RouteDependencies): void {
  app.addHook('preHandler', (request, _reply, done) => {
    const isProbe = request.routeOptions.config.public === true;
    if (!isProbe && isBodyWithin(smallBodyBytesMax, request.raw)) dependencies.receiver.turns.giveWay();
    done();
  });
  dependencies.rateLimits?.addTo(app);
  dependencies.diskFloor?.addTo(app);
  addTableRoutes(app, dependencies);
  addRowRoutes(app, dependencies);
  addQueryRoutes(app, dependencies);
  addExportRoutes(app, dependencies);
  addStashRoutes(app, dependencies);
  addUploadRoutes(app, dependencies);
  if (dependencies.uploadBytes !== null) addUploadBytesRoute(app, dependencies.uploadBytes);
  addFileRoutes(app, dependencies);
  addJobRoutes(app, dependencies);
  addTeamRoutes(app, dependencies);
  addOperatorsRoutes(app, dependencies);
}

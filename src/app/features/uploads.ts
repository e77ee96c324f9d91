/** Uploaded files. */
import { addFileRoutes } from '../../api/http/uploads/files.ts';
import { addUploadBytesRoute } from '../../api/http/uploads/upload-bytes.ts';
import { addUploadRoutes } from '../../api/http/uploads/uploads.ts';
import { UploadMaintenance } from '../../operations/maintenance/upload-maintenance.ts';
import { LocalFileStore } from '../../storage/files/local-file-store.ts';
import type { Feature } from '../feature.ts';

export const uploadsFeature: Feature = (parts) => {
  const { config, log, files, logger, metrics } = parts;
  const { uploads } = parts.queries;
  const maintenance = new UploadMaintenance({ log, uploads, files, logger });
  return {
    routes: (app) => {
      addUploadRoutes(app, {
        ...parts,
        uploads,
        uploadLimits: {
          sizeMax: config.UPLOAD_SIZE_MAX_BYTES,
          lifeMs: config.UPLOAD_LIFE_MS,
          unclaimedLifeMs: config.UPLOAD_UNCLAIMED_LIFE_MS,
          openMax: config.UPLOADS_OPEN_MAX,
          openBytesMax: config.UPLOADS_OPEN_BYTES_MAX,
        },
      });
      // With S3, clients send the bytes to S3 directly.
      if (files instanceof LocalFileStore) {
        const onRefused = metrics.requests.refused.bind(metrics.requests);
        addUploadBytesRoute(app, { ...parts, uploads, store: files, onRefused });
      }
      addFileRoutes(app, { ...parts, uploads, filesCacheSeconds: config.FILES_CACHE_SECONDS });
    },
    maintenance: [
      { name: 'end_uploads', repeats: true, step: () => maintenance.endDue() },
      { name: 'given_up_files', repeats: true, step: () => maintenance.clear() },
      { name: 'note_claims', repeats: false, step: () => maintenance.noteClaims() },
      { name: 'orphaned_files', repeats: false, isRare: true, step: () => maintenance.removeOrphans() },
    ],
    close: () => maintenance.close(),
  };
};

/** All routes of the interface, for tests that look at them and ask nothing of what they would do. */
import { readConfig } from '../../../../src/app/config.ts';
import type { Feature } from '../../../../src/app/feature.ts';
import { features } from '../../../../src/app/features.ts';
import type { SharedParts } from '../../../../src/app/shared-parts.ts';
import type { App } from '../../../../src/api/http/server/app-type.ts';
import { LocalFileStore } from '../../../../src/storage/files/local-file-store.ts';

/** `giveWay`: called for each request to which large bodies give way. */
export function addAllRoutes(app: App, giveWay: () => void = () => undefined): void {
  const parts = {
    config: readConfig({}),
    queries: { tables: {} },
    files: Object.create(LocalFileStore.prototype) as LocalFileStore,
    metrics: { requests: { refused: () => undefined } },
    receiver: { turns: { giveWay } },
    rateLimits: null,
    diskFloor: { addTo: () => undefined },
  } as unknown as SharedParts;
  for (const open of Object.values<Feature>(features)) open(parts).routes?.(app);
}

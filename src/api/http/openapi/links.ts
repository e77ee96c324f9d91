/** Which operations take the IDs that an answer has: the `links` of the document. */
import type { Link } from './operation.ts';

const ofTable = [
  'getTable',
  'getTableHead',
  'updateTable',
  'overwriteTable',
  'deleteTable',
  'getRowsVersion',
  'listRows',
  'addRows',
  'queryRows',
  'exportTable',
] as const;
const ofRow = ['getRow', 'updateRow', 'deleteRow'] as const;

/** From the creation of a table. */
export const tableLinks: readonly Link[] = linksTo(ofTable, { tableID: '$response.body#/data/tableID' });

/** From the first of the rows that an answer names. `tableID`: where the ID of their table stands. */
export function rowLinks(tableID: '$response.body#/data/tableID' | '$request.path.tableID'): Link[] {
  return linksTo(ofRow, { tableID, rowID: '$response.body#/data/rowIDs/0' });
}

/** From an answer of 202. */
export const jobLinks: readonly Link[] = linksTo(['getJob', 'getJobProgress'], { jobID: '$response.body#/data/jobID' });

/** From the creation of an upload. Where its bytes are sent to is a URL of its own, and no parameter. */
export const uploadLinks: readonly Link[] = linksTo(['completeUpload', 'deleteUpload'], {
  appID: '$request.path.appID',
  uploadID: '$response.body#/data/uploadID',
});

/** From a chunk of a stash, which is imported whole. */
export const stashLinks: readonly Link[] = [
  ...linksTo(['putChunk', 'deleteStash'], { stashID: '$request.path.stashID' }),
  {
    operationId: 'createTable',
    requestBody: { name: 'the rows of a stash', rows: { $stashID: '{$request.path.stashID}' } },
  },
];

/** From the creation of a team. */
export const teamLinks: readonly Link[] = linksTo(
  ['getTeam', 'setPlan', 'suspendTeam', 'resumeTeam', 'listTeamTokens', 'createTeamToken', 'releaseTeam'],
  { teamID: '$response.body#/data/id' },
);

/** From the creation of a token. */
export const tokenLinks: readonly Link[] = linksTo(['revokeToken'], { tokenID: '$response.body#/data/id' });

function linksTo(operationIds: readonly string[], parameters: NonNullable<Link['parameters']>): Link[] {
  return operationIds.map((operationId) => ({ operationId, parameters }));
}

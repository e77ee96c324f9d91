/** Names of operations and quotas for people. */

export const namesOfOperations: Readonly<Record<string, string>> = {
  createTable: 'Create a table',
  replaceTable: 'Replace rows',
  overwriteTable: 'Replace rows',
  updateTable: 'Rename',
  deleteTable: 'Delete a table',
  addRows: 'Add rows',
  patchRow: 'Change a row',
  deleteRow: 'Delete a row',
  putStashChunk: 'Send a chunk',
  deleteStash: 'Delete a stash',
  createUpload: 'Create an upload',
  completeUpload: 'Complete an upload',
  deleteUpload: 'Withdraw a file',
};

export const namesOfQuotas: Readonly<Record<string, string>> = {
  rows: 'Rows',
  tables: 'Tables',
  stashes: 'Stashes',
  openBodies: 'Large requests in progress',
  openUploads: 'Open uploads',
  openUploadBytes: 'Bytes of open uploads',
  uploadBytes: 'Bytes of files',
  logBytesPerDay: 'Bytes of the log today',
};

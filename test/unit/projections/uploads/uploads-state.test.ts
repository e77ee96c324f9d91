/** Which rows of a tail name which files. */
import { expect, test } from '@jest/globals';
import { UploadsState } from '../../../../projections/uploads/uploads.state.ts';
import type { TailRowsChange } from '../../../../projections/tables/table.ts';
import { filePath } from '../../../../src/storage/files/file-name.ts';
import { newFileName } from '../../../../src/storage/files/new-file-name.ts';
import { UndoJournal } from '../../../../src/log/batch/undo-journal.ts';

test('a row names a file if its body has the URL, counted from the first added row', () => {
  const state = new UploadsState(new UndoJournal());
  const [one, other] = [newFileName(), newFileName()];
  const naming = (...files: readonly string[]): string =>
    JSON.stringify({ a: files.map((file) => `https://files.example${filePath(file, 'a.png')}`).join(' ') });
  const change = {
    kind: 'tailRows',
    teamId: 'team',
    extent: { segment: 7n },
    first: 40,
    version: 1n,
    bodies: ['{}', naming(one), naming(one, other)],
    ids: null,
  };
  state.followTailRows(change as unknown as TailRowsChange);
  expect(state.newReferences).toEqual([
    { teamId: 'team', segment: 7n, index: 41, file: one },
    { teamId: 'team', segment: 7n, index: 42, file: one },
    { teamId: 'team', segment: 7n, index: 42, file: other },
  ]);
});

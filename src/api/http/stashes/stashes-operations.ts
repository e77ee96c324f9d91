/** The operations of the stash routes. */
import { json, type Operation } from '../openapi/operation.ts';
import { stashLinks } from '../openapi/links.ts';
import { examples, inputTexts, inputRows, nothing } from '../openapi/schemas.ts';

const put: Operation = {
  operationId: 'putChunk',
  tag: 'Stashes',
  summary: 'Send a chunk of rows to a stash',
  description:
    'The first chunk makes the stash, which can be imported for 48 hours from then on, unless the service is set otherwise: as the rows of a new table, of rows ' +
    'to be added, or of all rows of a table, in one step. Chunks may come in parallel and in any order: their serials order them, as ' +
    'numbers if all of a stash are integers, else by code point. A chunk takes the place of the one that came under its serial before, so ' +
    'that it can be sent again. 500 to 1,000 rows in each are good. Values are checked against a schema when the stash is imported, and so are the ' +
    '`$rowID`s that rows may come with to keep their identity in an overwrite. A team has at most 10,000 stashes, unless its plan or the service is ' +
    'set otherwise.',
  body: { ...json(inputRows, { rows: examples.inputRows }), ...inputTexts },
  answers: {
    200: {
      description: 'The chunk is in the stash.',
      headersAtTimes: ['Tablog-Dropped-Cells', 'Tablog-Short-Lines', 'Tablog-Notes'],
      body: json(nothing, { stored: {} }),
      links: stashLinks,
    },
  },
  // The columns: in the header of CSV or TSV.
  errors: ['payment_required', 'column_id_not_unique', 'column_id_reserved'],
};

const remove: Operation = {
  operationId: 'deleteStash',
  tag: 'Stashes',
  summary: 'Delete a stash',
  description:
    'With all its chunks. Tables that it was imported into keep their rows. That there is no such stash is no error.',
  answers: { 200: { description: 'There is no such stash any more.', body: json(nothing, { deleted: {} }) } },
};

export const stashOperations = { put, remove };

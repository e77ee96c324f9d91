/** What `tablog query` and `tablog sql` write, to a terminal and elsewhere. */
import { describe, expect, test } from '@jest/globals';
import { PageRows } from '../../../../src/cli/export/page-rows.ts';
import { rowsOutput, type RowsOutputFlags } from '../../../../src/cli/query/rows-output.ts';

const terminal = { isTTY: true, columns: 20 } as NodeJS.WriteStream;
const pipe = { isTTY: false } as NodeJS.WriteStream;

describe('rows', () => {
  const text =
    '{"data":[{"$rowID":"x","n":4.20,"s":"2","json":"a"},{"$rowID":"y","n":null,"s":"a long text with blanks","json":{"b":[1]}},{"$rowID":"z","n":100}]}';

  const written = (flags: RowsOutputFlags, stdout: NodeJS.WriteStream): string => {
    const writer = rowsOutput(flags, stdout).writerOf(['n', 's', 'json'].map((id) => ({ id, isJson: id === 'json' })));
    const rows = new PageRows();
    rows.read(Buffer.from(text), () => writer.add(rows.scanner));
    return writer.begin() + writer.take() + writer.end();
  };

  test.each<readonly [string, RowsOutputFlags, NodeJS.WriteStream, string]>([
    [
      'a terminal gets a table as wide as it is',
      {},
      { ...terminal, columns: 30 } as NodeJS.WriteStream,
      '   n  s              json\n4.20  2              "a"\n      a long text …  {"b":[1]}\n 100\n',
    ],
    [
      'a terminal that does not tell its width',
      {},
      { ...terminal, columns: 0 } as NodeJS.WriteStream,
      '   n  s                        json\n4.20  2                        "a"\n      a long text with blanks  {"b":[1]}\n 100\n',
    ],
    ['a pipe gets CSV', {}, pipe, 'n,s,json\n4.20,2,"""a"""\n,a long text with blanks,"{""b"":[1]}"\n100,,\n'],
    [
      'a table in a pipe is not cut',
      { format: 'table' },
      pipe,
      '   n  s                        json\n4.20  2                        "a"\n      a long text with blanks  {"b":[1]}\n 100\n',
    ],
    [
      'lines of JSON on a terminal',
      { format: 'ndjson' },
      terminal,
      '{"n":4.20,"s":"2","json":"a"}\n{"n":null,"s":"a long text with blanks","json":{"b":[1]}}\n{"n":100}\n',
    ],
  ])('rows are printed: %s', (_what, flags, stdout, wanted) => {
    expect(written(flags, stdout)).toBe(wanted);
  });
});

test.each<readonly [string, RowsOutputFlags, NodeJS.WriteStream, number]>([
  ['a terminal', {}, terminal, 100],
  ['a terminal, whatever the format', { format: 'csv' }, terminal, 100],
  ['a pipe', {}, pipe, Infinity],
  ['a table in a pipe', { format: 'table' }, pipe, 100],
  ['a terminal with --limit', { limit: 3 }, terminal, 3],
  ['a pipe with --limit', { limit: 3 }, pipe, 3],
])('how many rows are written at most: %s', (_what, flags, stdout, limit) => {
  expect(rowsOutput(flags, stdout).limit).toBe(limit);
});

/** `--where` and `--set`: how texts become a filter and a patch, by the types of the columns. */
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { InvalidArgumentError } from 'commander';
import type { Column } from '../../../../clients/typescript/src/index.ts';
import { addAssignment, addWhere, filterOf, patchOf } from '../../../../src/cli/change/conditions.ts';
import { canAsk, confirm } from '../../../../src/cli/change/confirm.ts';

const columns: readonly Column[] = [
  { id: 'name', type: 'string' },
  { id: 'n', type: 'number' },
  { id: 'done', type: 'boolean' },
  { id: 'due', type: 'date' },
  { id: 'tags', type: { kind: 'array', items: { kind: 'string' } } },
  { id: 'any', type: 'json' },
];

describe('a condition', () => {
  test.each<[text: string, filter: object]>([
    ['name=7', { column: 'name', op: 'eq', value: '7' }],
    ['name = a = b', { column: 'name', op: 'eq', value: 'a = b' }],
    ['n>=18', { column: 'n', op: 'gte', value: 18 }],
    ['n <= -1', { column: 'n', op: 'lte', value: -1 }],
    ['n>1', { column: 'n', op: 'gt', value: 1 }],
    ['due<2026-01-01', { column: 'due', op: 'lt', value: '2026-01-01' }],
    ['done!=true', { column: 'done', op: 'ne', value: true }],
    ['any={"a":[1]}', { column: 'any', op: 'eq', value: { a: [1] } }],
    ['tags=["a"]', { column: 'tags', op: 'eq', value: ['a'] }],
    ['name=', { column: 'name', op: 'isEmpty' }],
    ['name!=', { column: 'name', op: 'isNotEmpty' }],
    // The service says that they do not fit, and that there is no such column.
    ['n=many', { column: 'n', op: 'eq', value: 'many' }],
    ['gone=1', { column: 'gone', op: 'eq', value: '1' }],
    ['{"column":"n","op":"in","value":[1,2]}', { column: 'n', op: 'in', value: [1, 2] }],
  ])('%s is the filter %j', (text, filter) => {
    expect(filterOf(addWhere(text), columns)).toEqual(filter);
  });

  test('that is repeated must be met together with the others', () => {
    const both = addWhere('{"or":[]}', addWhere('n<1'));
    expect(filterOf(both, columns)).toEqual({ and: [{ column: 'n', op: 'lt', value: 1 }, { or: [] }] });
  });

  test('has numbers with their digits', () => {
    expect(JSON.stringify(filterOf(addWhere('n=4.20'), columns))).toBe('{"column":"n","op":"eq","value":4.20}');
  });

  test.each(['name', '=1', 'n>', '{', ''])('%j is none', (text) => {
    expect(() => addWhere(text)).toThrow(InvalidArgumentError);
  });
});

describe('an assignment', () => {
  test.each<[text: string, patch: object]>([
    ['name=a=b', { name: 'a=b' }],
    ['name= 7 ', { name: ' 7 ' }],
    ['name=', { name: null }],
    ['n=18', { n: 18 }],
    ['done=false', { done: false }],
    ['tags=["a","b"]', { tags: ['a', 'b'] }],
    ['any=hello', { any: 'hello' }],
    ['n=many', { n: 'many' }],
    ['{"name":"","a=b":1}', { 'name': '', 'a=b': 1 }],
  ])('%s is the patch %j', (text, patch) => {
    expect(patchOf(addAssignment(text), columns)).toEqual(patch);
  });

  test('comes after those before it', () => {
    const three = addAssignment('n=2', addAssignment('{"name":"a","n":1}', addAssignment('name=b')));
    expect(patchOf(three, columns)).toEqual({ name: 'a', n: 2 });
  });

  test.each(['name', '=1', '{', ''])('%j is none', (text) => {
    expect(() => addAssignment(text)).toThrow(InvalidArgumentError);
  });
});

describe('a question', () => {
  const ask = async (answer: string): Promise<string> => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    input.end(answer);
    await confirm('Delete 2 rows?', new AbortController().signal, { input, output });
    output.end();
    return text(output);
  };

  test.each(['y\n', 'YES\n', ' yes'])('is confirmed by %j', async (answer) => {
    expect(await ask(answer)).toBe('Delete 2 rows? [y/N] ');
  });

  test.each(['', '\n', 'n\n', 'yesterday\n', 'no\ny\n'])('is refused by %j', async (answer) => {
    await expect(ask(answer)).rejects.toThrow('Nothing was changed.');
  });

  test('ends when the command is interrupted', async () => {
    const interrupting = new AbortController();
    const asked = confirm('?', interrupting.signal, { input: new PassThrough(), output: new PassThrough() });
    interrupting.abort(new Error('Interrupted.'));
    await expect(asked).rejects.toThrow('Interrupted.');
  });

  test('is asked only on a terminal', () => {
    const [terminal, pipe] = [Object.assign(new PassThrough(), { isTTY: true }), new PassThrough()];
    const answers = [
      canAsk({ input: terminal, output: terminal }),
      canAsk({ input: pipe, output: terminal }),
      canAsk({ input: terminal, output: pipe }),
    ];
    expect(answers).toEqual([true, false, false]);
  });
});

/** What the controls of an import say of a file, and where its columns go. */
import { expect, test } from '@jest/globals';
import {
  columnsOfTargets,
  problemOfTargets,
  targetsOf,
  type Targets,
} from '../../../../console/src/import/column-targets.ts';
import {
  countFurther,
  dateFormatTitles,
  formOfDraft,
  plainDraft,
  withForm,
  type FormDraft,
} from '../../../../console/src/import/form-draft.ts';
import type { Column } from '../../../../console/src/tables/column-types.ts';
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';

test.each<[said: Partial<FormDraft>, form: DelimitedForm]>([
  [{}, {}],
  [
    { header: 'absent', delimiter: ';', decimal: ',', dateFormat: 'd.m.y' },
    { header: 'absent', delimiter: ';', decimal: ',', dateFormat: 'd.m.y' },
  ],
  [{ delimiter: '\t' }, { delimiter: '\t' }],
  [
    { delimiter: '¦', quote: "'", escape: '\\' },
    { delimiter: '¦', quote: "'", escape: '\\' },
  ],
  [
    { quote: 'none', isLenient: true },
    { quote: 'none', lenient: true },
  ],
  [
    { skipLines: ' 3 ', comment: '#', renamesDuplicates: true },
    { skipLines: 3, comment: '#', duplicateColumns: 'rename' },
  ],
  [{ skipLines: '0', nulls: ' , ' }, {}],
  [{ nulls: 'NA, NULL,-' }, { null: ['NA', 'NULL', '-'] }],
  [{ types: { zip: 'string' } }, { types: { zip: 'string' } }],
])('a draft with %j says the form %j', (said, form) => {
  expect(formOfDraft({ ...plainDraft, ...said }, ',')).toEqual(form);
});

test.each<[said: Partial<FormDraft>, message: string]>([
  [{ delimiter: '::' }, 'Separator: must be one character.'],
  [{ delimiter: '"' }, 'Quotes around cells: this must not be the delimiter too.'],
  [{ comment: '//' }, 'Comments begin with: must be one character.'],
  [{ skipLines: 'two' }, 'Lines before the header: two is not a number.'],
  [{ skipLines: '1.5' }, 'Lines before the header: must be a whole number.'],
  [{ skipLines: '-1' }, 'Lines before the header: must be a whole number.'],
  [{ quote: "'", comment: "'" }, 'Comments begin with: this must not be the quote too.'],
  [{ skipLines: '1000001' }, 'Lines before the header: at most 1,000,000 can be skipped.'],
  [
    { skipLines: '9007199254740993' },
    'Lines before the header: 9007199254740993 cannot be stored exactly as a number: it would become 9007199254740992.',
  ],
])('%j is refused: %s', (said, message) => {
  expect(() => formOfDraft({ ...plainDraft, ...said }, ',')).toThrow(message);
});

test('a remedy is added to the choices that were made', () => {
  const said = withForm({ ...plainDraft, nulls: 'NA', header: 'absent' }, { null: ['-', 'NA'], decimal: ',' });
  expect(formOfDraft(said, ',')).toEqual({ header: 'absent', null: ['NA', '-'], decimal: ',' });
  expect(formOfDraft(withForm(said, { dateFormat: 'm/d/y' }), ',')).toEqual({
    header: 'absent',
    null: ['NA', '-'],
    decimal: ',',
    dateFormat: 'm/d/y',
  });
  expect([countFurther(plainDraft), countFurther(said), countFurther({ ...said, isLenient: true })]).toEqual([0, 1, 2]);
});

test('date formats are shown with an example day', () => {
  expect(Object.fromEntries(dateFormatTitles)).toEqual({
    'd.m.y': '31.12.2024',
    'd/m/y': '31/12/2024',
    'm/d/y': '12/31/2024',
  });
});

const columns: readonly Column[] = [
  { id: 'name', displayName: 'Full name', type: 'string' },
  { id: 'Full', type: 'string' },
  { id: 'a', displayName: 'Same', type: 'string' },
  { id: 'b', displayName: 'Same', type: 'string' },
];

test.each<[what: string, names: string[], chosen: Targets, targets: Targets, renamed: Targets | undefined]>([
  ['IDs are matched', ['name', 'Full'], {}, { name: 'name', Full: 'Full' }, undefined],
  [
    'and then display names',
    ['Full name', 'Full'],
    {},
    { 'Full name': 'name', 'Full': 'Full' },
    { 'Full name': 'name' },
  ],
  [
    'unless the column is taken by its ID',
    ['Full name', 'name'],
    {},
    { 'Full name': 'Full name', 'name': 'name' },
    undefined,
  ],
  ['or several have the name', ['Same'], {}, { Same: 'Same' }, undefined],
  ['others are new', ['new'], {}, { new: 'new' }, undefined],
  [
    'a choice counts more',
    ['Full name', 'x'],
    { 'x': 'name', 'Full name': 'Full name' },
    { 'Full name': 'Full name', 'x': 'name' },
    { x: 'name' },
  ],
  [
    'also for names of objects',
    ['__proto__x', 'constructor'],
    {},
    { __proto__x: '__proto__x', constructor: 'constructor' },
    undefined,
  ],
])('columns find their targets: %s: %j', (_, names, chosen, targets, renamed) => {
  expect(targetsOf(names, columns, chosen)).toEqual(targets);
  expect(columnsOfTargets(targets)).toEqual(renamed);
  expect(problemOfTargets(targets, columns)).toBeNull();
});

test('two columns cannot have the same target', () => {
  expect(problemOfTargets(targetsOf(['x', 'name'], columns, { x: 'name' }), columns)).toBe(
    'x and name cannot both go into Full name.',
  );
});

test('columns whose IDs differ only in their normal form are distinguished, or refused', () => {
  const inNfd: readonly Column[] = [{ id: 'e\u0301', type: 'string' }];
  const targets = targetsOf(['\u00e9'], inNfd, {});
  expect([columnsOfTargets(targets), problemOfTargets(targets, inNfd)]).toEqual([{ '\u00e9': 'e\u0301' }, null]);
  expect(columnsOfTargets({ 'e\u0301': 'e\u0301' })).toEqual({ 'e\u0301': 'e\u0301' });
  const both: readonly Column[] = [...inNfd, { id: '\u00e9', type: 'string' }];
  expect(problemOfTargets(targetsOf(['\u00e9'], both, {}), both)).toContain('in several normal forms of Unicode');
});

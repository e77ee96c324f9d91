import { expect, test } from '@jest/globals';
import { applyMutant, mutantsOf } from '../../mutation/mutants.ts';
import { targets } from '../../mutation/targets.ts';

const changes = (source: string): string[] => mutantsOf(source).map(({ change }) => change);

test.each<[string, string, string[]]>([
  ['a comparison', 'x = a < b;', ['a < b -> a <= b']],
  ['an equality', 'x = a === b;', ['a === b -> a !== b']],
  ['a connective', 'x = a && b;', ['a && b -> a || b']],
  ['a sum', 'x = a + b;', ['a + b -> a - b']],
  ['a default', 'x = a ?? b;', ['a ?? b -> a']],
  ['a negation', 'x = !a;', ['!a -> a']],
  ['a constant', 'x = 9;', ['9 -> 10']],
  ['a constant with separators', 'x = 60_000;', ['60_000 -> 60_000 + 1']],
  ['a big constant', 'x = 9n;', ['9n -> 10n']],
  ['a text', `x = 'kind';`, [`'kind' -> ''`]],
  ['a truth', 'x = true;', ['true -> false']],
  ['a list', 'x = [a];', ['[a] -> []']],
  ['a call', 'store(a);', ['store(a); -> ;']],
  ['an awaited call', 'await store(a);', ['await store(a); -> ;']],
  ['a guard', 'if (a) return b;', ['if (a) return b; -> ;', 'a -> !(a)']],
  ['a guard that throws', 'if (a) { throw new Error(b); }', ['if (a) { throw new Error(b); } -> ;', 'a -> !(a)']],
  [
    'a guard whose equality is negated anyway',
    'if (a === b) continue;',
    ['if (a === b) continue; -> ;', 'a === b -> a !== b'],
  ],
  ['a condition with an alternative', 'if (a) b = c; else return d;', ['a -> !(a)']],
  ['a choice', 'x = a ? b : c;', ['a -> !(a)']],
])('it changes %s', (_what, source, expected) => {
  expect(changes(source)).toEqual(expected);
});

test.each([
  ['types', `type A = 'a' | 1; interface B { readonly c: true }`],
  ['imports', `import { a } from 'b'; export { c } from 'd';`],
  ['joined texts', 'x = `a${b}` + c;'],
  ['texts for people', `x = 'It is too long.';`],
  ['names', `x = { 'a-b': c, 1: d };`],
  ['thrown errors', `throw new HttpError('not_found', 1);`],
  ['the constructor of what a class extends', 'class A extends B { constructor() { super(); } }'],
  ['declarations', 'const a = make();'],
])('the command does not change %s', (_what, source) => {
  expect(changes(source)).toEqual([]);
});

test('a mutant changes only its place, and knows its line', () => {
  const source = 'const a = 1;\nif (a < 2) go(a);\n';
  const less = mutantsOf(source).find(({ change }) => change === 'a < 2 -> a <= 2')!;
  expect(less.line).toBe(2);
  expect(applyMutant(source, less)).toBe('const a = 1;\nif (a <= 2) go(a);\n');
});

test('each pattern of a target matches files', () => {
  expect(targets.map(({ files }) => files.length > 0)).toEqual(targets.map(() => true));
});

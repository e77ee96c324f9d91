import ts from 'typescript';
import { placeOf, type ParsedFile } from './parse.ts';

const placeholders = /%[sdifjop#%]|\$\{[^}]*\}|\$[\w.#]+/g;
const continuesAnotherTitle = /^(also|and|but|nor|of|or|those)\b/i;

/**
 * The titles of tests that are no sentences, one message each: what remains without placeholders is a word, or the
 * title goes on with a sentence that stands elsewhere.
 */
export function poorTitles(file: ParsedFile): readonly string[] {
  return titlesIn(file).flatMap((title) => {
    const text = title.getText(file.tree).slice(1, -1);
    const words = text.replaceAll(placeholders, ' ').match(/\p{L}[\p{L}'’-]*/gu) ?? [];
    const problem =
      words.length < 2
        ? 'is a placeholder: say the situation and the result, in a sentence with a verb'
        : continuesAnotherTitle.test(text)
          ? 'goes on with another title: say the situation and the result, in a sentence with a verb'
          : null;
    return problem === null ? [] : [`${placeOf(file, title)}: the title "${text}" ${problem}`];
  });
}

/** The titles of `test(...)`, `test.each(...)(...)` and so on. */
function titlesIn({ path, tree }: ParsedFile): readonly ts.Expression[] {
  if (!/\.test\.tsx?$/.test(path)) return [];
  const titles: ts.Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && calleeOf(node) === 'test') {
      const [title] = node.arguments;
      if (title !== undefined && (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title))) titles.push(title);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return titles;
}

/**
 * The name at the beginning of `test(`, `test.each(...)(` and `(isFull ? test : test.skip)(`; null for anything else.
 */
function calleeOf({ expression }: ts.CallExpression): string | null {
  let callee: ts.Expression = expression;
  while (!ts.isIdentifier(callee)) {
    if (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee) || ts.isParenthesizedExpression(callee))
      callee = callee.expression;
    else if (ts.isTaggedTemplateExpression(callee)) callee = callee.tag;
    else if (ts.isConditionalExpression(callee)) callee = callee.whenTrue;
    else return null;
  }
  return callee.text;
}

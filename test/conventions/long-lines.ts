import ts from 'typescript';
import type { ParsedFile, RepositoryFile } from './parse.ts';

const columnsMax = 120;

/** What nobody can wrap in Markdown: a table, a heading, a link, an address, something drawn. */
const unwrapped = /^\s*(\||#|\[|[-*] \[[^\]]*\]\([^)]*\)$)|https?:\/\/\S{40}|[─│▶◀┌└]/;

/** The lines of a Markdown file that are longer than they may be and could be shorter, one message each. */
export function longLinesOfText({ path, text }: RepositoryFile): readonly string[] {
  let isFenced = false;
  return text.split('\n').flatMap((line, at) => {
    if (line.trimStart().startsWith('```')) isFenced = !isFenced;
    return isLong(line) && !isFenced && !unwrapped.test(line) ? [messageOf(path, at)] : [];
  });
}

/**
 * The lines of a source file that are longer than they may be, one message each. A literal that begins and ends in its
 * line may make it longer: the formatter cannot break it, and a reader searches for it as a whole.
 */
export function longLinesOfCode({ path, text, tree }: ParsedFile): readonly string[] {
  const unbroken = new Set<number>();
  const visit = (node: ts.Node): void => {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) || ts.isJsxText(node);
    const [first, last] = [node.getStart(tree), node.end].map((at) => tree.getLineAndCharacterOfPosition(at).line);
    if ((isText || ts.isRegularExpressionLiteral(node)) && first === last) unbroken.add(last!);
    // What a test prints or reads has the lines that it has.
    if (isText && path.startsWith('test/')) for (let line = first!; line <= last!; line += 1) unbroken.add(line);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return text.split('\n').flatMap((line, at) => {
    const isComment = /^\s*(\/\*|\*|\/\/)/.test(line);
    const isAllowed = isComment ? unwrapped.test(line.replace(/^\s*\* /, '')) : unbroken.has(at);
    return isLong(line) && !isAllowed ? [messageOf(path, at)] : [];
  });
}

function isLong(line: string): boolean {
  return [...line].length > columnsMax;
}

function messageOf(path: string, at: number): string {
  return `${path}:${at + 1}: is longer than ${columnsMax} columns`;
}

import type { RepositoryFile } from './parse.ts';

const columnsMax = 120;

/**
 * A literal that nobody can break: a text, a template, a regular expression, or text between tags. The formatter breaks
 * all other code.
 */
const unbroken = /(['"`/>])[^'"`]{40,}/;
const comment = /^\s*(\/\*|\*|\/\/)/;
/** A table, a link, a heading, or something drawn. */
const unwrapped = /^\s*(\||#|\[|[-*] \[[^\]]*\]\([^)]*\)$)|https?:\/\/\S{40}|[─│▶◀┌└]/;

/** The lines that are longer than they may be and could be shorter, one message each. */
export function longLines({ path, text }: RepositoryFile): readonly string[] {
  let isFenced = false;
  return text.split('\n').flatMap((line, at) => {
    const isMarkdown = path.endsWith('.md');
    if (isMarkdown && line.trimStart().startsWith('```')) isFenced = !isFenced;
    if ([...line].length <= columnsMax) return [];
    const isAllowed = isMarkdown ? isFenced || unwrapped.test(line) : !comment.test(line) && unbroken.test(line);
    return isAllowed || unwrapped.test(line.replace(/^\s*\*? /, ''))
      ? []
      : [`${path}:${at + 1}: is longer than ${columnsMax} columns`];
  });
}

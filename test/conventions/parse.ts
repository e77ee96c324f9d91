import ts from 'typescript';

/** A file of the repository. `path` is relative to its root. */
export interface RepositoryFile {
  readonly path: string;
  readonly text: string;
}

/** A source file with its syntax tree. */
export interface ParsedFile extends RepositoryFile {
  readonly tree: ts.SourceFile;
}

/** The file with its syntax tree, whose nodes know their parents. */
export function parse({ path, text }: RepositoryFile): ParsedFile {
  const kind = path.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind) };
}

/** `path:line`, with the line of the node from 1. */
export function placeOf({ path, tree }: ParsedFile, node: ts.Node): string {
  return `${path}:${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`;
}

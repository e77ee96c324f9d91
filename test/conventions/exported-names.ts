import ts from 'typescript';
import type { ParsedFile } from './parse.ts';

/** Names that say enough together with the folder that they come from. */
const shareable: ReadonlySet<string> = new Set(['open']);

/**
 * Programs of their own: they have words of their own for what they ask of the service, such as the client's `Table`.
 * All other folders at the top are the service.
 */
const programs = ['bench', 'clients/command-line', 'clients/file-import', 'clients/typescript', 'console', 'test'];

/** The names that more than one file of a program exports, one message each. */
export function sharedNames(files: readonly ParsedFile[]): readonly string[] {
  const paths = new Map<string, Set<string>>();
  for (const { path, tree } of files) {
    const program = programs.find((folder) => path.startsWith(`${folder}/`)) ?? 'the service';
    for (const name of tree.statements.flatMap(namesOf)) {
      const key = `${name} of ${program}`;
      paths.set(key, (paths.get(key) ?? new Set()).add(path));
    }
  }
  return [...paths]
    .filter(([key, exporters]) => exporters.size > 1 && !shareable.has(key.split(' ')[0]!))
    .map(([key, exporters]) => `${key} is exported by ${[...exporters].join(', ')}: one name means one thing`);
}

/** The names that a statement declares and exports. What it exports of another file is that file's. */
function namesOf(statement: ts.Statement): readonly string[] {
  if (!ts.canHaveModifiers(statement)) return [];
  if (!ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement);
  return isNamed && statement.name !== undefined ? [statement.name.text] : [];
}

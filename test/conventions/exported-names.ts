import ts from 'typescript';
import type { ParsedFile } from './parse.ts';

/** Names that say enough together with the folder that they come from. */
const shareable: ReadonlySet<string> = new Set(['open']);

/** The names that more than one file exports, one message each. */
export function sharedNames(files: readonly ParsedFile[]): readonly string[] {
  const paths = new Map<string, Set<string>>();
  for (const { path, tree } of files) {
    for (const name of tree.statements.flatMap(namesOf)) {
      const exporters = paths.get(name) ?? new Set();
      paths.set(name, exporters.add(path));
    }
  }
  return [...paths]
    .filter(([name, exporters]) => exporters.size > 1 && !shareable.has(name))
    .map(([name, exporters]) => `${name} is exported by ${[...exporters].join(', ')}: one name means one thing`);
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

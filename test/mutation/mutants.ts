/** Small changes of source text, each of which a test should notice. */
import ts from 'typescript';

export interface Mutant {
  /** Where the text is replaced: from (inclusive) to end (exclusive), in UTF-16 units. */
  readonly from: number;
  readonly end: number;
  readonly text: string;
  /** From 1. */
  readonly line: number;
  readonly change: string;
}

const K = ts.SyntaxKind;

/** What each operator becomes. */
const operators = new Map<ts.SyntaxKind, string>([
  [K.LessThanToken, '<='],
  [K.LessThanEqualsToken, '<'],
  [K.GreaterThanToken, '>='],
  [K.GreaterThanEqualsToken, '>'],
  [K.EqualsEqualsEqualsToken, '!=='],
  [K.ExclamationEqualsEqualsToken, '==='],
  [K.AmpersandAmpersandToken, '||'],
  [K.BarBarToken, '&&'],
  [K.PlusToken, '-'],
  [K.MinusToken, '+'],
  [K.AsteriskToken, '/'],
  [K.PlusEqualsToken, '-='],
  [K.MinusEqualsToken, '+='],
]);

/**
 * All mutants of a TypeScript file, in the order of their places. Types, imports, thrown errors and texts of several
 * words have none.
 */
export function mutantsOf(source: string): Mutant[] {
  const file = ts.createSourceFile('mutated.ts', source, ts.ScriptTarget.ESNext, true);
  const found: Mutant[] = [];
  const replace = (node: ts.Node, text: string): void => {
    const from = node.getStart(file);
    const was = node.getText(file);
    found.push({
      from,
      end: node.end,
      text,
      line: file.getLineAndCharacterOfPosition(from).line + 1,
      change: `${onOneLine(was)} -> ${text === '' ? 'nothing' : onOneLine(text)}`,
    });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isThrowStatement(node) || isTypeDeclaration(node))
      return;
    mutate(node, file, replace);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found.toSorted((a, b) => a.from - b.from || a.end - b.end);
}

export function applyMutant(source: string, { from, end, text }: Mutant): string {
  return source.slice(0, from) + text + source.slice(end);
}

function mutate(node: ts.Node, file: ts.SourceFile, replace: (node: ts.Node, text: string) => void): void {
  if (ts.isBinaryExpression(node)) {
    const {
      left,
      right,
      operatorToken: { kind },
    } = node;
    const other = operators.get(kind);
    const joinsTexts = kind === K.PlusToken && (isText(left) || isText(right));
    // Replace the whole comparison, so that the report shows both sides.
    if (other !== undefined && !joinsTexts) replace(node, `${left.getText(file)} ${other} ${right.getText(file)}`);
    if (kind === K.QuestionQuestionToken) replace(node, left.getText(file));
  } else if (ts.isIfStatement(node)) {
    if (!isCompared(node.expression)) replace(node.expression, `!(${node.expression.getText(file)})`);
    if (node.elseStatement === undefined && isExit(node.thenStatement)) replace(node, ';');
  } else if (ts.isConditionalExpression(node)) {
    if (!isCompared(node.condition)) replace(node.condition, `!(${node.condition.getText(file)})`);
  } else if (ts.isPrefixUnaryExpression(node) && node.operator === K.ExclamationToken)
    replace(node, node.operand.getText(file));
  else if (ts.isExpressionStatement(node) && isCall(node.expression)) replace(node, ';');
  else if (ts.isNumericLiteral(node) && isValue(node))
    replace(
      node,
      `${node.getText(file)} + 1`.replace(/^(\d+) \+ 1$/, (_, digits: string) => String(Number(digits) + 1)),
    );
  else if (ts.isBigIntLiteral(node) && isValue(node)) replace(node, `${BigInt(node.text.slice(0, -1)) + 1n}n`);
  else if (ts.isStringLiteral(node) && /^\S+$/.test(node.text) && isValue(node)) replace(node, `''`);
  else if (ts.isArrayLiteralExpression(node) && node.elements.length > 0 && !isAssignedTo(node)) replace(node, '[]');
  else if (node.kind === K.TrueKeyword && isValue(node)) replace(node, 'false');
  else if (node.kind === K.FalseKeyword && isValue(node)) replace(node, 'true');
}

/** Whether an operator is replaced that negates the condition. */
function isCompared(node: ts.Expression): boolean {
  return (
    ts.isBinaryExpression(node) &&
    [K.EqualsEqualsEqualsToken, K.ExclamationEqualsEqualsToken].includes(node.operatorToken.kind)
  );
}

function isTypeDeclaration(node: ts.Node): boolean {
  return ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
}

function isText(node: ts.Node): boolean {
  return (
    ts.isStringLiteral(node) ||
    ts.isTemplateExpression(node) ||
    ts.isNoSubstitutionTemplateLiteral(node) ||
    (ts.isBinaryExpression(node) &&
      node.operatorToken.kind === K.PlusToken &&
      (isText(node.left) || isText(node.right)))
  );
}

/** Whether a statement leaves the function or loop, alone. */
function isExit(statement: ts.Statement): boolean {
  const only = ts.isBlock(statement) && statement.statements.length === 1 ? statement.statements[0]! : statement;
  return (
    ts.isReturnStatement(only) || ts.isThrowStatement(only) || ts.isContinueStatement(only) || ts.isBreakStatement(only)
  );
}

function isCall(node: ts.Expression): boolean {
  if (ts.isAwaitExpression(node) || ts.isVoidExpression(node)) return isCall(node.expression);
  // The constructor of a class that extends another one must call it.
  return ts.isCallExpression(node) && node.expression.kind !== K.SuperKeyword;
}

/** Whether a literal is a value: no name of a property, no case of a switch, and no file. */
function isValue(node: ts.Node): boolean {
  const { parent } = node;
  if (
    ts.isLiteralTypeNode(parent) ||
    ts.isExportDeclaration(parent) ||
    ts.isCaseClause(parent) ||
    ts.isElementAccessExpression(parent)
  )
    return false;
  return !((ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent)) && parent.name === node);
}

/** `[a, b] = pair`. */
function isAssignedTo(node: ts.Node): boolean {
  return (
    ts.isBinaryExpression(node.parent) && node.parent.operatorToken.kind === K.EqualsToken && node.parent.left === node
  );
}

function onOneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 120 ? `${line.slice(0, 117)}...` : line;
}

/** Finds the effect of a statement in the model of Postgres. */
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import type { Handler, Effect } from './handler.ts';
import { logStatements } from './log-statements.ts';
import { modelStatements } from './model-statements.ts';
import { progressStatements } from './progress-statements.ts';
import { schemaStatements } from './schema-statements.ts';
import { generatedWrite } from './stored-rows.ts';

const known = new Map<string, Handler>(
  [progressStatements, logStatements, schemaStatements, modelStatements].flatMap((handlers) =>
    Object.entries(handlers),
  ),
);

/** Changes the effect of the statement with this name: plants a bug. */
export function changeStatement(name: string, change: (run: Effect) => Effect): void {
  const handler = known.get(name)!;
  known.set(name, { ...handler, run: change(handler.run) });
}

/** A statement with its effect. */
interface KnownStatement {
  readonly handler: Handler;
  readonly texts: readonly string[];
  /** The number of its parameters. */
  readonly parameters: number;
}

const found = new WeakMap<Statement, KnownStatement>();
const foundByText = new Map<string, KnownStatement>();

/** Throws for a statement that the model does not know. */
export function findStatement(statement: Statement): KnownStatement {
  const before = found.get(statement) ?? foundByText.get(statement.text);
  if (before) return before;
  const parameters = Math.max(0, ...[...statement.text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const now = { parameters, ...find(statement) };
  found.set(statement, now);
  foundByText.set(statement.text, now);
  return now;
}

function find({ name, text }: Statement): Omit<KnownStatement, 'parameters'> {
  // Generated statements have names.
  const handler = name === '' ? null : (known.get(name.replace(/_1$/, '')) ?? generatedWrite(text));
  if (handler) return { handler, texts: [text] };
  const start = text.trimStart();
  for (const [begin, unnamed] of known) {
    const texts = begin.includes(' ') ? patternOf(begin).exec(start) : null;
    if (texts !== null) return { handler: unnamed, texts };
  }
  throw new Error(`the model of Postgres does not know: ${name} ${text}`);
}

/** Matches texts that begin like this (`Handlers`). A blank stands for any white space, also for a line end. */
function patternOf(begin: string): RegExp {
  const escaped = begin.replaceAll(/[$()*+?.|[\]\\^]/g, String.raw`\$&`).replaceAll(' ', String.raw`\s+`);
  return new RegExp(
    `^${escaped.replaceAll('{}', String.raw`([\w.']+)`).replaceAll(String.raw`\.\.\.`, String.raw`[\s\S]*?`)}`,
  );
}

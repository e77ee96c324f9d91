/** Output of the command line: results on stdout, messages on stderr. */
import { InvalidArgumentError, Option, type Command, type OptionValues } from 'commander';
import { pino, type Logger } from 'pino';

/** A logger that writes warnings and errors to stderr. */
export function newLogger(): Logger {
  return pino({ level: 'warn' }, pino.destination({ fd: 2, sync: true }));
}

export function writeOut(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function writeWords(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Writes aligned columns, with a heading. */
export async function writeTable(heading: readonly string[], lines: readonly (readonly string[])[]): Promise<void> {
  // Imported on demand: loading the widths of all characters takes a fifth of the time of a command that writes no
  // table.
  const { textTable } = await import('./text-table.ts');
  process.stdout.write(textTable(heading, lines));
}

/**
 * Adds a required option. Commander's own required options do not do, because it checks them before it reports unknown
 * options, and so hides a misspelt one.
 */
export function withRequiredOption(
  command: Command,
  flags: string,
  description: string,
  {
    parse,
    isNeeded = () => true,
  }: {
    /** Parses the value, and gets the one before if the option is repeated. */
    readonly parse?: (text: string, before: never) => unknown;
    readonly isNeeded?: (values: OptionValues) => boolean;
  } = {},
): Command {
  const option = new Option(flags, description);
  if (parse !== undefined) option.argParser(parse as (text: string, before: unknown) => unknown);
  return command.addOption(option).hook('preAction', () => {
    if (command.getOptionValue(option.attributeName()) === undefined && isNeeded(command.opts()))
      command.error(`error: required option '${flags}' not specified`);
  });
}

/** A parser for numeric options and arguments. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^[0-9]+$/.test(text) || value < min || value > max) {
      const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
      throw new InvalidArgumentError(`It must be a whole number ${range}.`);
    }
    return value;
  };
}

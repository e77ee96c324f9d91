#!/usr/bin/env node
/** `tablog` without the service: only the commands for clients. */
import { inspect } from 'node:util';
import { Command } from 'commander';
import { addClientCommands } from '../../src/cli/client-commands.ts';
import { describeServerError, isServerError } from '../../src/cli/client/server-error.ts';
import { UserError } from '../../src/cli/user-error.ts';
import packaged from './package.json' with { type: 'json' };

const program = new Command('tablog')
  .version(packaged.version, '-V, --version', 'write the version')
  .description('A client of Tablog, a service for tables of rows.')
  .showHelpAfterError('(add --help to list the commands and options)');
addClientCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  const text = isServerError(error)
    ? describeServerError(error)
    : error instanceof UserError
      ? error.message
      : inspect(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}

/** The commands to run, administer and use the service. Settings come from the environment. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { readConfig } from '../app/config.ts';
import { addBackupCommands } from './backup.ts';
import { addClientCommands } from './client-commands.ts';
import { addDigestCommand } from './digest.ts';
import { addKeyCommands } from './keys.ts';
import { addLogCommands } from './log.ts';
import { addPlanCommands } from './plans.ts';
import { addQuarantineCommands } from './quarantine.ts';
import { addReplayCommands } from './replay.ts';
import { addRestoreCommand } from './restore.ts';
import { runToEnd } from './run-to-end.ts';
import { addTeamCommands } from './teams.ts';
import { addTokenCommands } from './tokens.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const program = new Command('tablog')
  .version(version, '-V, --version', 'write the version')
  .description('A service for tables of rows, built on an append-only log.')
  // An option after the name of a command belongs to that command, even if its parent has the same option (`tablog
  // backup`).
  .enablePositionalOptions()
  .showHelpAfterError('(add --help to list the commands and options)');
program
  .command('serve')
  .description('run the service; the same as `npm start`')
  .action(async () => {
    // Imported on demand, so that other commands start faster.
    const { serve } = await import('../app/serve.ts');
    await serve(readConfig());
  });
addTeamCommands(program);
addPlanCommands(program);
addTokenCommands(program);
addKeyCommands(program);
addLogCommands(program);
addQuarantineCommands(program);
addReplayCommands(program);
addDigestCommand(program);
addBackupCommands(program);
addRestoreCommand(program);
addClientCommands(program);

await runToEnd(async () => {
  await program.parseAsync();
});

/** The options of `tablog update` and `tablog delete`. */
import { Option, type Command } from 'commander';
import { withClientOptions } from '../client/open-client.ts';
import { withRequiredOption } from '../console.ts';
import type { DeleteFlags, UpdateFlags } from './change-command.ts';
import { addAssignment, addWhere } from './conditions.ts';

/** The option that says which rows are meant, for `option` of a command. */
export const whereOption = [
  '--where <condition>',
  'a comparison, such as age>=18 (= != < <= > >=), or a filter in JSON; repeatable: rows must meet all',
  addWhere,
] as const;

export function addChangeCommands(program: Command): void {
  const updating = withWhere(program.command('update'))
    .description('set columns of all rows that meet a condition: all of these rows, at most 10,000, or none')
    .addHelpText(
      'after',
      `
Examples:
  tablog update tasks --where status=open --where 'due<2026-01-01' --set status=late --dry-run
  tablog update tasks --where owner= --set owner=ada --set note= --yes
  tablog update tasks --where '{"column":"title","op":"contains","value":"draft"}' --set '{"tags":["draft"]}'`,
    );
  withRequiredOption(
    updating,
    '--set <column=value>',
    'a column and its new value (none: empties the cell), or an object of values in JSON; repeatable',
    { parse: addAssignment },
  );
  withQuestion(updating).action(async (table: string, flags: UpdateFlags) => {
    const { runUpdate } = await import('./change-command.ts');
    await runUpdate(table, flags);
  });
  const deleting = withWhere(program.command('delete'))
    .description('delete all rows that meet a condition: all of these rows, at most 10,000, or none')
    .addHelpText(
      'after',
      `
Examples:
  tablog delete tasks --where status=done --dry-run
  tablog delete tasks --where done=true --where 'due<2026-01-01' --yes
  tablog delete tasks --where '{"and":[]}'           all rows
  tablog tables delete tasks                         the table itself`,
    );
  withQuestion(deleting).action(async (table: string, flags: DeleteFlags) => {
    const { runDelete } = await import('./change-command.ts');
    await runDelete(table, flags);
  });
}

function withWhere(command: Command): Command {
  const [flags, description, parse] = whereOption;
  return withRequiredOption(withClientOptions(command).argument('<table>', 'its name or ID'), flags, description, {
    parse,
  });
}

/** Adds the options of a command that asks before it changes rows. */
function withQuestion(command: Command): Command {
  return command
    .addOption(new Option('--dry-run', 'only count the rows').conflicts('yes'))
    .option('--yes', 'change the rows without a question; needed where there is no terminal')
    .option('--json', 'write the result as JSON');
}

/** The commands that are clients of a running service, local or remote: `tablog import`, `tablog query` and others. */
import { Option, type Command } from 'commander';
import { textFormats } from '../../clients/file-import/file-format.ts';
import { skipLinesMax } from '../language/formats/delimited-form.ts';
import type { ColumnType } from '../language/values/column-type.ts';
import { dateFormats } from '../language/values/date-format.ts';
import { addChangeCommands, whereOption } from './change/change-commands.ts';
import type { ClientFlags } from './client/client-settings.ts';
import { withClientOptions } from './client/open-client.ts';
import { wholeNumber, withRequiredOption } from './console.ts';
import { parseExportDelimiter, parseExportFormat, parseFormat } from './file-format.ts';
import {
  addColumn,
  addType,
  parseColumnType,
  parseDelimiter,
  parseEncoding,
  parseMark,
  parseNulls,
  parseQuote,
} from './import/import-flags.ts';
import { onSchemaErrors } from './import/import-request.ts';
import type { AddFlags, TypeFlags } from './columns-command.ts';
import type { ExportFlags } from './export/export-command.ts';
import type { ImportFlags } from './import/import-command.ts';
import type { QueryFlags } from './query/query-command.ts';
import { parseAggregates, parseFilter, parseNames } from './query/rows-query.ts';
import type { ChangeFlags, TablesFlags } from './tables-command.ts';
import type { SqlFlags } from './query/sql-command.ts';
import { addParameter } from './query/sql-parameters.ts';

const parallelDefault = 8;
const parallelMax = 64;

export function addClientCommands(program: Command): void {
  const importing = withClientOptions(program.command('import'))
    .description('import a file of rows into a table, in one step: all rows or none')
    .argument(
      '<file>',
      'CSV, TSV, JSON (an array of objects), NDJSON or an Excel workbook, by its name, also with .gz or .zst; - is stdin',
    );
  withRequiredOption(
    importing,
    '--table <name|id>',
    'the table to add the rows to; created if no table has that name',
    { isNeeded: ({ showTypes }) => showTypes === undefined },
  )
    .addOption(
      new Option('--create', 'create a new table, even if one has that name').conflicts(['overwrite', 'ifMatch']),
    )
    .option('--overwrite', 'replace all rows of the table')
    .addOption(
      new Option('--upsert', 'patch the rows whose keys exist and add the others; the table needs a key').conflicts([
        'create',
        'overwrite',
        'ifMatch',
      ]),
    )
    .option('--key <columns>', 'with --upsert: the columns of the key, declared if the table has none', parseNames)
    .addOption(
      new Option('--on-schema-error <what>', 'what to do with values that do not fit the table')
        .choices(onSchemaErrors)
        .default('abort'),
    )
    .option('--if-match <version>', 'only if the table has not changed since this version')
    .option(
      '--format <format>',
      'csv, tsv, json, ndjson or xlsx, optionally with .gz or .zst; default: by the name of the file',
      parseFormat,
    )
    .option('--no-header', 'CSV or TSV has no header: the columns are column_1, column_2 and so on')
    .option(
      '--delimiter <character>',
      'the separator of cells in CSV or TSV, such as ; or | or tab; default: recognized from the first lines of CSV',
      parseDelimiter,
    )
    .option('--quote <character>', 'the quote around cells, instead of ", or none', parseQuote)
    .option('--escape <character>', 'the escape before a quote in a quoted cell, such as \\', parseMark)
    .option('--lenient', 'read a quote inside an unquoted cell as text')
    .option('--skip-lines <n>', 'how many lines to skip before the header', wholeNumber(0, skipLinesMax))
    .option('--comment <character>', 'skip lines that begin with this, such as #', parseMark)
    .option('--rename-duplicates', 'if two columns have one name, rename the second to <name>_2')
    .option(
      '--column <name=id>',
      'put a column of the file into this column of the table; repeatable; default: by ID or display name',
      addColumn,
    )
    .option(
      '--null <texts>',
      'read unquoted cells with these texts as empty; separated by commas, such as NA,NULL',
      parseNulls,
    )
    .addOption(
      new Option(
        '--decimal <mark>',
        'the decimal mark of numbers; thousands may be separated by spaces, apostrophes or the other mark',
      ).choices(['.', ',']),
    )
    .addOption(
      new Option('--date-format <order>', 'the order of dates, besides YYYY-MM-DD; a time may follow').choices(
        dateFormats,
      ),
    )
    .option('--type <id=type>', 'the type of a column, such as zip=string; repeatable; default: inferred', addType)
    .option(
      '--show-types',
      'show the types that would be inferred, and the cells that prevent a more specific type; import nothing',
    )
    .option('--sheet <name>', 'the sheet of a workbook; default: the first visible one')
    .option(
      '--encoding <name>',
      'the encoding of the text, such as windows-1252 or utf-16le; a byte order mark takes precedence',
      parseEncoding,
      'utf-8',
    )
    .option('--parallel <n>', 'how many chunks to upload at once', wholeNumber(1, parallelMax), parallelDefault)
    .option('--json', 'write the result as JSON')
    .action(async (file: string, flags: ImportFlags) => {
      const { runImport, runShowTypes } = await import('./import/import-command.ts');
      await (flags.showTypes ? runShowTypes : runImport)(file, flags);
    });
  withClientOptions(program.command('export'))
    .description('write the rows of a table to stdout or to a file')
    .argument('<table>', 'its name or ID')
    .option(
      '--format <format>',
      'csv, tsv, json, ndjson, parquet or xlsx; default: by the name of the file, and csv on stdout',
      parseExportFormat,
    )
    .option('--output <file>', 'the file to write; compressed if its name ends in .gz or .zst')
    .option('--delimiter <character>', 'the separator of cells in CSV: , or ; or | or tab', parseExportDelimiter)
    .option('--excel', 'write CSV for Excel: texts that Excel would run as formulas get an apostrophe')
    .option(
      '--row-ids',
      'also write row IDs, as $rowID, so that an overwrite from the file keeps them; Parquet and workbooks always have them',
    )
    .action(async (table: string, flags: ExportFlags) => {
      const { runExport } = await import('./export/export-command.ts');
      await runExport(table, flags);
    });
  addTablesCommands(program);
  addColumnsCommands(program);
  const querying = withClientOptions(program.command('query'))
    .description('write the rows of a table that match a filter, or groups of them')
    .argument('<table>', 'its name or ID')
    .addOption(
      new Option('--filter <json>', 'a condition, such as {"column":"age","op":"gte","value":18}')
        .argParser(parseFilter)
        .conflicts('where'),
    )
    .option(...whereOption)
    .option(
      '--sort <columns>',
      'columns, separated by commas; a minus before a column sorts in descending order',
      parseNames,
    )
    .option('--fields <columns>', 'the columns to write, also $rowID and $version', parseNames)
    .option('--count', 'show how many rows match the filter')
    .option('--group-by <columns>', 'write a line for each group of equal values in these columns', parseNames)
    .option(
      '--aggregate <functions>',
      'aggregates for each group, or for all rows, such as sum:amount,count',
      parseAggregates,
    );
  withRowsOptions(querying).action(async (table: string, flags: QueryFlags) => {
    const { runQuery } = await import('./query/query-command.ts');
    await runQuery(table, flags);
  });
  addChangeCommands(program);
  const inSql = withClientOptions(program.command('sql'))
    .description('run a SELECT over the tables of the team and write its rows')
    .argument('<select>', 'the SELECT; it uses names or IDs of tables')
    .option(
      '--param <value...>',
      'values for $1, $2 and so on: numbers, true, false or null; anything else is text',
      addParameter,
    );
  withRowsOptions(inSql).action(async (select: string, flags: SqlFlags) => {
    const { runSql } = await import('./query/sql-command.ts');
    await runSql(select, flags);
  });
  withClientOptions(program.command('types'))
    .description('write TypeScript types for the rows of tables, for use with the client')
    .argument('[tables...]', 'their names or IDs; default: all tables')
    .action(async (tables: readonly string[], flags: ClientFlags) => {
      const { runTypes } = await import('./types-command.ts');
      await runTypes(tables, flags);
    });
}

function addTablesCommands(program: Command): void {
  const tables = program.command('tables').description('list, rename and delete tables');
  const command = (name: string, description: string): Command => {
    return withClientOptions(tables.command(name))
      .description(description)
      .option('--json', 'write the result as JSON');
  };
  const changing = (name: string, description: string): Command => {
    return command(name, description)
      .argument('<table>', 'its name or ID')
      .option('--if-match <version>', 'only if the table has not changed since this version');
  };
  command('list', 'list all tables, in the order of their creation').action(async (flags: TablesFlags) => {
    const { runTablesList } = await import('./tables-command.ts');
    await runTablesList(flags);
  });
  changing('rename', 'give a table another name')
    .argument('<to>', 'the new name')
    .action(async (table: string, to: string, flags: ChangeFlags) => {
      const { runTablesRename } = await import('./tables-command.ts');
      await runTablesRename(table, to, flags);
    });
  changing('delete', 'delete a table with all its rows, permanently').action(
    async (table: string, flags: ChangeFlags) => {
      const { runTablesDelete } = await import('./tables-command.ts');
      await runTablesDelete(table, flags);
    },
  );
}

function addColumnsCommands(program: Command): void {
  const columns = program.command('columns').description('list, add, rename, retype and remove columns of a table');
  const command = (name: string, description: string): Command => {
    return withClientOptions(columns.command(name))
      .description(description)
      .argument('<table>', 'its name or ID')
      .option('--json', 'write the result as JSON');
  };
  const changing = (name: string, description: string): Command => {
    return command(name, description).option(
      '--if-match <version>',
      'only if the table has not changed since this version',
    );
  };
  command('list', 'list the columns of a table, in their order').action(async (table: string, flags: TablesFlags) => {
    const { runColumnsList } = await import('./columns-command.ts');
    await runColumnsList(table, flags);
  });
  changing('add', 'add a column, which is empty in all rows')
    .argument('<id>', 'the ID of the new column')
    .option('--type <type>', 'its type, such as number or array<date>', parseColumnType, 'string')
    .option('--name <name>', 'its display name (default: its ID)')
    .option('--first', 'put it before the other columns')
    .action(async (table: string, id: string, flags: AddFlags) => {
      const { runColumnsAdd } = await import('./columns-command.ts');
      await runColumnsAdd(table, id, flags);
    });
  changing('rename', 'change the display name of a column; its ID stays')
    .argument('<id>', 'the ID of the column')
    .argument('[name]', 'the display name (default: its ID)')
    .action(async (table: string, id: string, name: string | undefined, flags: ChangeFlags) => {
      const { runColumnsRename } = await import('./columns-command.ts');
      await runColumnsRename(table, id, name, flags);
    });
  changing('type', 'give a column another type')
    .argument('<id>', 'the ID of the column')
    .argument('<type>', 'the type, such as number or array<date>', parseColumnType)
    .option('--clear', 'empty the cells that do not fit, instead of refusing the change')
    .addOption(new Option('--dry-run', 'only count the cells that do not fit').conflicts('clear'))
    .action(async (table: string, id: string, type: ColumnType, flags: TypeFlags) => {
      const { runColumnsType } = await import('./columns-command.ts');
      await runColumnsType(table, id, type, flags);
    });
  changing('remove', 'remove columns with their values, permanently')
    .argument('<ids...>', 'the IDs of the columns')
    .action(async (table: string, ids: readonly string[], flags: ChangeFlags) => {
      const { runColumnsRemove } = await import('./columns-command.ts');
      await runColumnsRemove(table, ids, flags);
    });
}

/** Adds the options for the number of rows and their format. */
function withRowsOptions(command: Command): Command {
  return command
    .option(
      '--limit <n>',
      'the maximum number of rows; default: 100 on a terminal or as a table, otherwise all',
      wholeNumber(1),
    )
    .addOption(
      new Option('--format <format>', 'default: table on a terminal, otherwise csv').choices(['table', ...textFormats]),
    );
}

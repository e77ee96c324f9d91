import { expect, test } from '@jest/globals';
import { noFunction } from '../../../../../src/api/query/sql/mistakes.ts';

test.each([
  ['adddate', 'date_add'],
  ['char', 'chr'],
  ['charindex', 'instr'],
  ['collect_list', 'array_agg'],
  ['curdate', 'today'],
  ['date_format', 'strftime'],
  ['dateadd', 'date_add'],
  ['from_unixtime', 'to_timestamp'],
  ['getdate', 'now'],
  ['iif', 'CASE'],
  ['isnull', 'coalesce'],
  ['json_extract_scalar', 'json_extract_string'],
  ['jsonb_extract_path', 'json_extract'],
  ['locate', 'instr'],
  ['nvl', 'coalesce'],
  ['percentile_cont', 'quantile_cont'],
  ['percentile_disc', 'quantile_disc'],
  ['rand', 'random'],
  ['regexp_like', 'regexp_matches'],
  ['regexp_substr', 'regexp_extract'],
  ['str_to_date', 'strptime'],
  ['substring_index', 'split_part'],
  ['sysdate', 'now'],
  ['to_char', 'strftime'],
  ['to_date', 'strptime'],
  ['to_number', 'CAST'],
  ['UNIX_TIMESTAMP', 'epoch'],
])('%s, a function of other databases, is named as %s', (name, here) => {
  expect(noFunction(name)).toBe(`There is no function ${name}: use ${here}.`);
});

test.each([
  ['getenv', 'There is no function getenv, or it is not allowed here.'],
  ['!__postfix', 'There is no operator !.'],
  ['`__postfix', 'Put names in double quotes, not in backticks.'],
])('no other name is suggested for %s', (name, message) => {
  expect(noFunction(name)).toBe(message);
});

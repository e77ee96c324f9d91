/** projections/tables.sql is made from the models. */
import { expect, test } from '@jest/globals';
import { tablesSqlOf } from '../../../src/log/read-model.ts';
import { models, readTablesSql } from '../../../projections/models.ts';

test('the SQL of the tables is what the models declare: if not, `npm run tables` writes it anew, and readModelSchema is to be raised', async () => {
  expect(await readTablesSql()).toBe(await tablesSqlOf(models));
});

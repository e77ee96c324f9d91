/** projections/tables.sql is made from the models. */
import { expect, test } from '@jest/globals';
import { tablesSqlOf } from '../../../src/log/read-model.ts';
import { models, readTablesSql } from '../../../projections/models.ts';

test('the SQL of the tables matches the models (if not, run `npm run tables`, and raise readModelSchema)', async () => {
  expect(await readTablesSql()).toBe(await tablesSqlOf(models));
});

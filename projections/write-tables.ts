/**
 * `npm run tables`: writes the SQL of the read model's tables into tables.sql, from the entities and the storage of the
 * models.
 */
import { writeFile } from 'node:fs/promises';
import { tablesSqlOf } from '../src/log/read-model.ts';
import { models, tablesFile } from './models.ts';

await writeFile(tablesFile, await tablesSqlOf(models));

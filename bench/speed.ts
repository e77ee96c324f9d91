/** `npm run speed`: the speed of this machine, for comparing durations between machines: a second of the yardstick. */
import { join } from 'node:path';
import { startClient } from './client-process.ts';
import { rowsPerRequest } from './data.ts';
import { createDatabase, startPostgres } from './environment.ts';
import { measurements } from './measurements.ts';
import { runToEnd } from './run-to-end.ts';
import { startYardstick } from './yardstick-process.ts';

await runToEnd(async ({ folder, resources, signal }) => {
  const url = await startPostgres(join(folder, 'postgres'), resources);
  const database = await createDatabase(url, 'speed', resources);
  const { target } = await startYardstick(database, join(folder, 'yardstick.log'), resources, signal);
  const ask = startClient(resources, signal);
  await ask({ do: 'load', target, rows: rowsPerRequest, connections: 1 });
  const measurement = measurements.find(({ name }) => name === 'get-32')!;
  const measured = await ask({ do: 'measure', target, measurement, seconds: 1, seed: 1 });
  console.log(
    `The speed of this machine: the yardstick answers ${Math.round(measured!.timing.rate).toLocaleString('en')} GETs a second.`,
  );
});

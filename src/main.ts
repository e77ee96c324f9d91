/** The service as a process: `npm start`. */
import { keepCompiledModules } from './cli/compile-cache.ts';

keepCompiledModules();
const [{ runToEnd }, { readConfig }, { serve }] = await Promise.all([
  import('./cli/run-to-end.ts'),
  import('./app/config.ts'),
  import('./app/serve.ts'),
]);
await runToEnd(() => serve(readConfig()));

/** The service as a process: `npm start`. */
import { runToEnd } from './cli/run-to-end.ts';
import { readConfig } from './app/config.ts';
import { serve } from './app/serve.ts';

await runToEnd(() => serve(readConfig()));

/** The service as a process: `npm start`. */
import { runToEnd } from './cli/run-to-end.ts';
import { readConfig } from './config.ts';
import { serve } from './serve.ts';

await runToEnd(() => serve(readConfig()));

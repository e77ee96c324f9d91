/**
 * Compiled modules are kept from one start to the next: to compile them takes most of the time that a process needs to
 * start.
 */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../node_modules/.cache/tablog/compiled');

/**
 * Keeps the modules that are imported from now on, also in the processes that this one starts. Where the folder cannot
 * be written, nothing is kept. NODE_COMPILE_CACHE names another folder, and NODE_DISABLE_COMPILE_CACHE=1 keeps nothing
 * (https://nodejs.org/api/module.html#module-compile-cache).
 */
export function keepCompiledModules(): void {
  if (process.env['NODE_COMPILE_CACHE'] !== undefined) return;
  process.env['NODE_COMPILE_CACHE'] = folder;
  enableCompileCache(folder);
}

/** Keeps compiled modules from one start to the next, because compiling them takes most of the time of a start. */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../node_modules/.cache/tablog/compiled');

/**
 * Caches the modules that are imported from now on, also by processes that this one starts. If the folder cannot be
 * written, nothing is cached. NODE_COMPILE_CACHE names another folder, and NODE_DISABLE_COMPILE_CACHE=1 turns caching
 * off (https://nodejs.org/api/module.html#module-compile-cache).
 */
export function keepCompiledModules(): void {
  if (process.env['NODE_COMPILE_CACHE'] !== undefined) return;
  process.env['NODE_COMPILE_CACHE'] = folder;
  enableCompileCache(folder);
}

#!/usr/bin/env node
/** `tablog`: the command line as a process. */
import { keepCompiledModules } from './compile-cache.ts';

keepCompiledModules();
await import('./program.ts');

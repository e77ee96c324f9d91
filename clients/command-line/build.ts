/** Bundles the command line and its packages into `dist`, so that it installs without dependencies. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const folder = import.meta.dirname;
await rm(join(folder, 'dist'), { recursive: true, force: true });
await build({
  entryPoints: [join(folder, 'main.ts')],
  outdir: join(folder, 'dist'),
  platform: 'node',
  target: 'node22',
  format: 'esm',
  bundle: true,
  splitting: true,
  minifySyntax: true,
  logLevel: 'warning',
  // Some packages are CommonJS and call `require` for modules of Node.
  banner: {
    js: "import { createRequire as createRequireOfNode } from 'node:module'; const require = createRequireOfNode(import.meta.url);",
  },
});

/**
 * Bundles the console into `dist`: `index.html`, and the files that it loads, whose names change with their content.
 * The service serves them (src/api/http/service/console.ts). `npm ci` does so when the packages are installed; `--watch`
 * does so anew after each change, but of the worker.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { argv } from 'node:process';
import type { BuildOptions, Metafile, Plugin } from 'esbuild';

const folder = import.meta.dirname;
const dist = join(folder, 'dist');

/** The page names the files of the entry. */
const page: Plugin = {
  name: 'page',
  setup({ onEnd }) {
    onEnd(async ({ metafile, errors }) => {
      if (errors.length > 0) return;
      const { script, style } = filesOf(metafile!);
      const html = await readFile(join(folder, 'index.html'), 'utf8');
      await writeFile(join(dist, 'index.html'), html.replace('{script}', script).replace('{style}', style));
    });
  },
};

function filesOf({ outputs }: Metafile): { readonly script: string; readonly style: string } {
  const [path, { cssBundle }] = Object.entries(outputs).find(([, { entryPoint }]) =>
    entryPoint?.endsWith('console/src/main.tsx'),
  )! as [string, { cssBundle: string }];
  return { script: basename(path), style: basename(cssBundle) };
}

const common = {
  outdir: dist,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  platform: 'browser',
  target: 'es2023',
  format: 'esm',
  bundle: true,
  minify: true,
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
  // It says how types are checked, and the folder that it begins from is not in every image.
  tsconfigRaw: {},
} satisfies BuildOptions;

const standIn = join(folder, '../clients/file-import/browser-buffer.ts');

/** The worker reads files with code of the service, which has buffers of Node. */
const workerOptions = {
  ...common,
  entryPoints: [join(folder, 'src/import/worker.ts')],
  alias: { 'node:buffer': standIn },
  inject: [standIn],
} satisfies BuildOptions;

const pageOptions = (workerFile: string): BuildOptions => ({
  ...common,
  entryPoints: [join(folder, 'src/main.tsx')],
  jsx: 'automatic',
  splitting: true,
  plugins: [page],
  define: { 'process.env.NODE_ENV': '"production"', 'importWorkerFile': JSON.stringify(workerFile) },
});

const esbuild = await import('esbuild').catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  return null;
});
if (esbuild === null) {
  process.stderr.write('Without the development packages the console is not built: `/` leads to the documentation.\n');
} else {
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  const { metafile } = await esbuild.build(workerOptions);
  const options = pageOptions(basename(Object.keys(metafile.outputs)[0]!));
  if (argv.includes('--watch')) await (await esbuild.context(options)).watch();
  else await esbuild.build(options);
}

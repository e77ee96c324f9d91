/**
 * `/`: the console, a page for browsers, which `console/build.ts` makes; `/console/*`: the files that it loads. Where
 * it is not built, `/` leads to the documentation.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { z } from 'zod';
import type { App } from '../server/app-type.ts';
import type { FairShares } from '../limits/fair-shares.ts';
import { replyWithError } from '../answers/error-reply.ts';
import { fileContents, pageAnswer, sendPage } from './page.ts';
import { makeFile, sendFile, type StaticFile } from './static-file.ts';
import type { Operation } from '../openapi/operation.ts';

const rootOperation: Operation = {
  operationId: 'getRoot',
  tag: 'Service',
  summary: 'The console',
  description: 'For people who open the address of the service in a browser. All that the page needs comes from here.',
  answers: {
    200: pageAnswer,
    302: {
      description: 'There is no console here: it is not built. The documentation is at `Location`.',
      headers: ['Page-Location'],
    },
  },
};

const filePath = {
  consoleFile: z
    .string()
    .meta({ description: 'The name of a file, which the page has.', examples: ['main-HQ5X2KPA.css'] }),
};

const fileOperation: Operation = {
  operationId: 'getConsoleFile',
  tag: 'Service',
  path: filePath,
  summary: 'A file of the console',
  description: 'What the console is made of. A file never changes: its name has a hash of its content in it.',
  answers: { 200: { description: 'The file.', headers: ['Console-Cache-Control'], body: fileContents } },
  errors: ['not_found'],
};

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/**
 * The page runs its own scripts only, which have the nonce: uploaded files may be scripts at the same origin
 * (docs/decisions/0063). What a script imports has the nonce of that script. Only a script can start a worker. The grid
 * and the editor write style elements, which need the nonce. Cells may name pictures and sounds elsewhere. `media`: the
 * origins of these beside `https:`, each with a blank before it.
 */
const policyOf = (nonce: string, media: string): string =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "worker-src 'self'",
    `style-src 'nonce-${nonce}'`,
    `img-src 'self'${media} https: data: blob:`,
    `media-src 'self'${media} https:`,
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** Names have a hash of the content in them. */
const forever = 'public, max-age=31536000, immutable';

/**
 * `folder`: the console as it was built. `outgoingBytes`: what counts the bytes of its files. `filesOrigin`: that of
 * uploaded files, if it is another one.
 */
export function addConsoleRoutes(
  app: App,
  folder: string,
  outgoingBytes: FairShares | null,
  filesOrigin: string | null,
): void {
  const media = filesOrigin === null ? '' : ` ${filesOrigin}`;
  const built = readBuilt(folder);
  const method = ['GET', 'HEAD'];
  const config = { public: true } as const;
  app.route({
    method,
    url: '/',
    config: { ...config, operation: rootOperation },
    // Relative, so that it works behind a path prefix of a proxy too.
    handler: (_request, reply) => {
      if (built === null) return reply.redirect('docs', 302);
      const { page } = built;
      return sendPage(
        reply,
        (nonce) => policyOf(nonce, media),
        (nonce) => page.replaceAll('{nonce}', nonce),
      );
    },
  });
  const files = new Map<string, Promise<StaticFile>>();
  app.route({
    method,
    url: '/console/:consoleFile',
    config: { ...config, operation: fileOperation },
    handler: async (request, reply) => {
      const { consoleFile: name } = request.params as { readonly consoleFile: string };
      const type = types[extname(name)];
      if (type === undefined || built?.names.has(name) !== true)
        return replyWithError(reply, 'not_found', 'There is nothing at this path.');
      const file = files.get(name) ?? readFile(join(folder, name), 'utf8').then((text) => makeFile(type, text));
      files.set(name, file);
      // Failures are not cached.
      file.catch(() => files.delete(name));
      return sendFile(request, reply.header('cache-control', forever), await file, outgoingBytes);
    },
  });
}

/** Null if it is not built. */
function readBuilt(folder: string): { readonly page: string; readonly names: ReadonlySet<string> } | null {
  try {
    return { page: readFileSync(join(folder, 'index.html'), 'utf8'), names: new Set(readdirSync(folder)) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

/**
 * `/`: the console, a page for browsers that `console/build.ts` builds. `/console/*`: the files that the page loads. If
 * the console is not built, `/` redirects to the documentation.
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
  description:
    'For people who open the address of the service in a browser. The page loads everything from this service.',
  answers: {
    200: pageAnswer,
    302: {
      description: 'This service has no console, because it is not built. `Location` is the URL of the documentation.',
      headers: ['Page-Location'],
    },
  },
};

const filePath = {
  consoleFile: z
    .string()
    .meta({ description: 'The name of a file that the page loads.', examples: ['main-HQ5X2KPA.css'] }),
};

const fileOperation: Operation = {
  operationId: 'getConsoleFile',
  tag: 'Service',
  path: filePath,
  summary: 'A file of the console',
  description: 'A script or style sheet of the console. A file never changes: its name contains a hash of its content.',
  answers: { 200: { description: 'The file.', headers: ['Console-Cache-Control'], body: fileContents } },
  errors: ['not_found'],
};

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/**
 * The page runs only its own scripts, which have the nonce, because uploaded files may be scripts at the same origin
 * (docs/decisions/0063). A script's imports get its nonce. Only a script can start a worker. The grid and the editor
 * write style elements, which need the nonce. Cells may name pictures and sounds on other hosts. `media`: their origins
 * beside `https:`, each with a blank before it.
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

/** For files whose names contain a hash of their content. */
const forever = 'public, max-age=31536000, immutable';

/**
 * `folder`: the built console. `outgoingBytes`: limits the bytes of its files that clients have not read.
 * `filesOrigin`: the origin of uploaded files, if it is another one.
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
    // A relative URL also works behind a path prefix of a proxy.
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
      // Do not cache failures.
      file.catch(() => files.delete(name));
      return sendFile(request, reply.header('cache-control', forever), await file, outgoingBytes);
    },
  });
}

/** Null if the console is not built. */
function readBuilt(folder: string): { readonly page: string; readonly names: ReadonlySet<string> } | null {
  try {
    return { page: readFileSync(join(folder, 'index.html'), 'utf8'), names: new Set(readdirSync(folder)) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

/** `/openapi.json`: the OpenAPI document. `/docs`: a page that shows it, without requests to other hosts. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { App } from '../server/app-type.ts';
import { fileContents, pageAnswer, sendPage } from './page.ts';
import { makeFile, sendFile, type StaticFile } from './static-file.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import type { FairShares } from '../limits/fair-shares.ts';
import { replyWithError } from '../answers/error-reply.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { readIfNoneMatch, replyNotModified, setVersion } from '../requests/versions.ts';

const documentOperation: Operation = {
  operationId: 'getDocument',
  tag: 'Service',
  summary: 'This document',
  description: 'The interface in the format of OpenAPI 3.1.',
  answers: {
    200: {
      description: 'The document.',
      versioned: true,
      body: jsonContent(z.looseObject({ openapi: z.string() }), { 'its beginning': { openapi: '3.1.0' } }),
    },
  },
};

const pageOperation: Operation = {
  operationId: 'getDocumentation',
  tag: 'Service',
  summary: 'A page to read and try out this document',
  description: 'A page for browsers. It loads everything from this service.',
  answers: { 200: pageAnswer },
};

const filePath = { file: z.string().meta({ description: 'The name of a file.', examples: ['swagger-ui.css'] }) };

const fileOperation: Operation = {
  operationId: 'getDocumentationFile',
  tag: 'Service',
  path: filePath,
  summary: 'A file of the page',
  description: 'A script or style sheet of the page for browsers.',
  answers: { 200: { description: 'The file.', versioned: true, body: fileContents } },
  errors: ['not_found'],
};

/** URLs are relative, so that the page also works behind a path prefix of a proxy. */
const pageOf = (nonce: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tablog</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css" nonce="${nonce}">
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The document itself is <a href="openapi.json">openapi.json</a>.</noscript>
<script src="docs/swagger-ui-bundle.js" nonce="${nonce}"></script>
<script src="docs/start.js" nonce="${nonce}"></script>
</body>
</html>
`;

/** Turns off the validator, which is on another host. */
const startScript = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#page', deepLinking: true, validatorUrl: null });
`;

/**
 * The page may load only its own scripts and styles, and answers of the interface, because uploaded files may be
 * scripts at the same origin. The icons in its style sheet are data URLs.
 */
const policyOf = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const swaggerUi = createRequire(import.meta.url);

/**
 * `document` is called once all routes are registered. `outgoingBytes`: limits the bytes of the files that clients have
 * not read.
 */
export function addDocumentationRoutes(
  app: App,
  outgoingBytes: FairShares | null,
  document: () => OpenApiDocument,
): void {
  /**
   * Clients revalidate the file on each use, and get it only if it has changed, so that a new version of the service
   * shows at once.
   */
  function replyWithFile(
    request: FastifyRequest,
    reply: FastifyReply,
    file: StaticFile,
  ): Promise<FastifyReply> | FastifyReply {
    if (readIfNoneMatch(request)(file.version)) return replyNotModified(reply, file.version);
    return sendFile(request, setVersion(reply, file.version), file, outgoingBytes);
  }
  const method = ['GET', 'HEAD'];
  const documentFile = once(() => makeFile('application/json; charset=utf-8', JSON.stringify(document())));
  const filesOfPage = new Map<string, () => StaticFile | Promise<StaticFile>>([
    ['start.js', once(() => makeFile('text/javascript; charset=utf-8', startScript))],
    ['swagger-ui-bundle.js', once(() => readSwaggerUi('text/javascript; charset=utf-8', 'swagger-ui-bundle.js'))],
    ['swagger-ui.css', once(() => readSwaggerUi('text/css; charset=utf-8', 'swagger-ui.css'))],
  ]);
  app.route({
    method,
    url: '/openapi.json',
    config: { public: true, operation: documentOperation },
    handler: (request, reply) => replyWithFile(request, reply, documentFile()),
  });
  app.route({
    method,
    url: '/docs',
    config: { public: true, operation: pageOperation },
    handler: (_request, reply) => sendPage(reply, policyOf, pageOf),
  });
  app.route({
    method,
    url: '/docs/:file',
    config: { public: true, operation: fileOperation },
    handler: async (request, reply) => {
      const file = filesOfPage.get((request.params as { readonly file: string }).file);
      if (file === undefined) return replyWithError(reply, 'not_found', 'There is nothing at this path.');
      return replyWithFile(request, reply, await file());
    },
  });
}

async function readSwaggerUi(type: string, name: string): Promise<StaticFile> {
  return makeFile(type, await readFile(swaggerUi.resolve(`@fastify/swagger-ui/static/${name}`), 'utf8'));
}

/** Makes the value at the first call, because most processes never serve it. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    if (made !== null) return made.value;
    const value = make();
    made = { value };
    // Do not cache failures.
    if (value instanceof Promise) value.catch(() => (made = null));
    return value;
  };
}

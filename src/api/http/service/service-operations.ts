/** The operations of the service routes: health, metrics and documentation. */
import { z } from 'zod';
import { json, type Operation } from '../openapi/operation.ts';

const ok = { data: { status: 'ok' } };
const degraded = { data: { status: 'degraded', problems: ['Partition 3 has halted.'] } };

const live: Operation = {
  operationId: 'getLiveness',
  tag: 'Service',
  summary: 'Whether the process runs',
  description: 'It does if it answers.',
  answers: {
    200: {
      description: 'It runs.',
      body: json(z.strictObject({ data: z.strictObject({ status: z.literal('ok') }) }), { ok }),
    },
  },
};

const ready: Operation = {
  operationId: 'getReadiness',
  tag: 'Service',
  summary: 'Whether the process takes requests',
  description: 'The message of 503 says why it does not.',
  answers: {
    200: {
      description: 'It takes requests. If it is degraded, some of them fail.',
      body: json(
        z.strictObject({
          data: z.union([
            z.strictObject({ status: z.literal('ok') }),
            z.strictObject({ status: z.literal('degraded'), problems: z.array(z.string()) }),
          ]),
        }),
        { ok, degraded },
      ),
    },
  },
  errors: ['service_unavailable'],
};

const metrics: Operation = {
  operationId: 'getMetrics',
  tag: 'Service',
  summary: 'What the process measures',
  description: 'In the text format of Prometheus. It is on a port of its own if the service was told so.',
  answers: {
    200: {
      description: 'The measurements.',
      body: { 'text/plain': { schema: z.string(), examples: { one: 'tablog_postgres_reachable 1\n' } } },
    },
  },
};

const root: Operation = {
  operationId: 'getRoot',
  tag: 'Service',
  summary: 'The console',
  description: 'For people who open the address of the service in a browser. All that the page needs comes from here.',
  answers: {
    200: {
      description: 'The page.',
      body: { 'text/html': { schema: z.string(), examples: { 'its beginning': '<!doctype html>' } } },
    },
    302: {
      description: 'There is no console here: it is not built. The documentation is at `Location`.',
      headers: ['Page-Location'],
    },
  },
};

const document: Operation = {
  operationId: 'getDocument',
  tag: 'Service',
  summary: 'This document',
  description: 'The interface in the format of OpenAPI 3.1.',
  answers: {
    200: {
      description: 'The document.',
      versioned: true,
      body: json(z.looseObject({ openapi: z.string() }), { 'its beginning': { openapi: '3.1.0' } }),
    },
  },
};

const page: Operation = {
  operationId: 'getDocumentation',
  tag: 'Service',
  summary: 'This document to be read, and tried out',
  description: 'A page for browsers. All that it needs comes from here.',
  answers: {
    200: {
      description: 'The page.',
      body: { 'text/html': { schema: z.string(), examples: { 'its beginning': '<!doctype html>' } } },
    },
  },
};

const pageFile: Operation = {
  operationId: 'getDocumentationFile',
  tag: 'Service',
  summary: 'A file of the page',
  description: 'What the page for browsers is made of.',
  answers: {
    200: {
      description: 'The file.',
      versioned: true,
      body: {
        'text/css': { schema: z.string(), examples: { styles: 'body { margin: 0 }' } },
        'text/javascript': { schema: z.string(), examples: { script: 'start();' } },
      },
    },
  },
  errors: ['not_found'],
};

const consoleFile: Operation = {
  operationId: 'getConsoleFile',
  tag: 'Service',
  summary: 'A file of the console',
  description: 'What the console is made of. A file never changes: its name has a hash of its content in it.',
  answers: {
    200: {
      description: 'The file.',
      headers: ['Console-Cache-Control'],
      body: {
        'text/css': { schema: z.string(), examples: { styles: 'body { margin: 0 }' } },
        'text/javascript': { schema: z.string(), examples: { script: 'start();' } },
      },
    },
  },
  errors: ['not_found'],
};

export const serviceOperations = { live, ready, metrics, root, document, page, pageFile, consoleFile };

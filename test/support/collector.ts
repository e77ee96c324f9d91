/** A collector of OpenTelemetry that accepts traces as OTLP/HTTP in JSON. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A span, and the process that sent it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly process: Readonly<Record<string, unknown>>;
}

export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** From now on it accepts requests but never answers them. */
  hang(): void;
  /** How many requests have come since then. */
  readonly unanswered: number;
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, 'attributes' | 'process'> & {
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  let hangs = false;
  let unanswered = 0;
  const server = createServer((request, response) => {
    if (hangs) {
      unanswered += 1;
      return;
    }
    void json(request).then((body) => {
      if (request.method === 'POST' && request.url === '/v1/traces') spans.push(...spansIn(body as Exported));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    hang: () => {
      hangs = true;
    },
    get unanswered() {
      return unanswered;
    },
    close: async () => {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

function spansIn({ resourceSpans }: Exported): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => {
        return { ...span, attributes: valuesOf(span.attributes), process: valuesOf(resource.attributes) };
      }),
    ),
  );
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

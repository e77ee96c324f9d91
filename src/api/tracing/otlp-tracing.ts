/** Sends OpenTelemetry traces as OTLP over HTTP. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  defaultTextMapGetter,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { readTraceContext } from '../../language/events/record-header.ts';
import type { LogRecord } from '../../log/event-log.ts';
import { decodeContext, encodeContext } from './trace-context.ts';
import type { AppendSpan, Tracing } from './tracing.ts';

/** Time limits of an export, and of the last export at the end of the process, in milliseconds. */
const exportTimeoutMs = 10_000;
const lastExportMs = 2000;

/** Paths without traces, because machines request them every few seconds. */
const untraced = new Set(['/livez', '/readyz', '/metrics']);

/** The values of OTEL_TRACES_SAMPLER. */
type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio';

export interface OtlpTracingOptions {
  /** The URL of the collector, without the path `/v1/traces`. */
  readonly endpoint: string;
  readonly serviceName: string;
  readonly sampler: SamplerName;
  /** The share of requests that `traceidratio` samples, 0 to 1. */
  readonly ratio: number;
  /** The setting ROLE of this process. */
  readonly role: string;
  readonly logger: Pick<Logger, 'warn'>;
}

export class OtlpTracing implements Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #current = new AsyncLocalStorage<Span>();
  readonly #propagator = new W3CTraceContextPropagator();

  constructor({ endpoint, serviceName, sampler, ratio, role, logger }: OtlpTracingOptions) {
    const warn = (message: string, ...details: unknown[]): void =>
      logger.warn({ details: details.map(String) }, `traces: ${message}`);
    diag.setLogger(
      { error: warn, warn, info: () => undefined, debug: () => undefined, verbose: () => undefined },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    const exporter = new OTLPTraceExporter({
      url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
      timeoutMillis: exportTimeoutMs,
    });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': serviceName, 'tablog.role': role }),
      sampler: samplerOf(sampler, ratio),
      // The processor keeps at most 2,048 spans, and drops further ones.
      spanProcessors: [
        new BatchSpanProcessor({ exporter, exportTimeoutMillis: exportTimeoutMs, scheduledDelayMillis: 1000 }),
      ],
    });
    this.#tracer = this.#provider.getTracer('tablog');
  }

  traceRequest(request: FastifyRequest, reply: FastifyReply, run: () => void): void {
    const route = request.is404 ? undefined : request.routeOptions.url;
    if (route !== undefined && untraced.has(route)) return run();
    const parent = this.#propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter);
    const span = this.#tracer.startSpan(
      route === undefined ? request.method : `${request.method} ${route}`,
      {
        kind: SpanKind.SERVER,
        attributes: {
          'http.request.method': request.method,
          'tablog.request_id': request.id,
          ...(route === undefined ? {} : { 'http.route': route }),
        },
      },
      parent,
    );
    // Every answer emits `close`, even if the client did not wait for it.
    reply.raw.once('close', () => {
      const { statusCode, raw } = reply;
      if (raw.writableFinished) span.setAttribute('http.response.status_code', statusCode);
      if (!raw.writableFinished || statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    this.#current.run(span, run);
  }

  beginAppend(partition: number, eventType: string): AppendSpan | null {
    const request = this.#current.getStore();
    if (request === undefined || !request.isRecording()) return null;
    const span = this.#tracer.startSpan(
      'append',
      {
        kind: SpanKind.PRODUCER,
        attributes: { 'tablog.partition': partition, 'tablog.event': eventType },
      },
      trace.setSpan(ROOT_CONTEXT, request),
    );
    return {
      context: encodeContext(span.spanContext()),
      end: (error) => {
        if (error !== undefined)
          span.setStatus({ code: SpanStatusCode.ERROR, ...(error instanceof Error ? { message: error.message } : {}) });
        span.end();
      },
    };
  }

  recordsProjected(records: readonly Pick<LogRecord, 'partition' | 'bytes'>[], began: number): void {
    for (const { partition, bytes } of records) {
      const context = contextIn(bytes);
      if (context === null) continue;
      this.#tracer
        .startSpan(
          'project',
          {
            kind: SpanKind.CONSUMER,
            startTime: began,
            attributes: { 'tablog.partition': partition, 'tablog.batch_events': records.length },
          },
          trace.setSpanContext(ROOT_CONTEXT, context),
        )
        .end();
    }
  }

  async close(): Promise<void> {
    const late = new AbortController();
    // If the collector does not answer, the spans are lost, and the diagnostics report it.
    await Promise.race([
      this.#provider.shutdown().catch((error: unknown) => diag.warn('the last spans could not be sent', error)),
      sleep(lastExportMs, undefined, { signal: late.signal }).catch(() => undefined),
    ]);
    late.abort();
  }
}

function contextIn(bytes: Uint8Array): SpanContext | null {
  const field = readTraceContext(bytes);
  return field === null ? null : decodeContext(field);
}

function samplerOf(name: SamplerName, ratio: number): Sampler {
  const root = name.endsWith('always_on')
    ? new AlwaysOnSampler()
    : name.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(ratio);
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

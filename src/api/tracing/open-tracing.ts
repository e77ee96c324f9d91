/** Opens tracing if OTEL_EXPORTER_OTLP_ENDPOINT is set. Otherwise OpenTelemetry's SDK is not loaded. */
import type { Logger } from 'pino';
import type { OtlpTracingOptions } from './otlp-tracing.ts';
import type { Tracing } from './tracing.ts';

/** The settings of traces. */
interface TracingSettings {
  readonly ROLE: string;
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly OTEL_SERVICE_NAME: string;
  readonly OTEL_TRACES_SAMPLER: OtlpTracingOptions['sampler'];
  readonly OTEL_TRACES_SAMPLER_ARG: number;
}

/** Opens tracing; null if no endpoint is set. */
export async function openTracing(config: TracingSettings, logger: Pick<Logger, 'warn'>): Promise<Tracing | null> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  if (endpoint === undefined) return null;
  const { OtlpTracing } = await import('./otlp-tracing.ts');
  return new OtlpTracing({
    endpoint,
    serviceName: config.OTEL_SERVICE_NAME,
    sampler: config.OTEL_TRACES_SAMPLER,
    ratio: config.OTEL_TRACES_SAMPLER_ARG,
    role: config.ROLE,
    logger,
  });
}

/** Traces, as a collector of OpenTelemetry gets them. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { useOwnApi } from '../support/api.ts';
import { startCollector, type CollectedSpan, type Collector } from '../support/collector.ts';
import { deploymentKind } from '../support/deployment-kind.ts';
import { sleepUntil } from '../support/server.ts';

let collector: Collector;
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(() => collector.close());
const { client } = useOwnApi(() => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_SERVICE_NAME: 'tables of ours',
}));

const newTrace = () => ({ traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') });
const spansOf = (traceId: string): CollectedSpan[] => collector.spans.filter((span) => span.traceId === traceId);

test('a request, its append and its projection are one trace, which continues the trace of the client', async () => {
  const { traceId, spanId } = newTrace();
  const created = await client().post(
    '/tables',
    { name: 'traced', rows: [{ a: 1 }] },
    { traceparent: `00-${traceId}-${spanId}-01` },
  );
  expect(created.status).toBe(201);
  await sleepUntil(() => Promise.resolve(spansOf(traceId).length >= 3), 'the collector has the spans');
  const named = (name: string): CollectedSpan => {
    const found = spansOf(traceId).filter((span) => span.name === name);
    expect(found).toHaveLength(1);
    return found[0]!;
  };
  const [request, append, project] = [named('POST /tables'), named('append'), named('project')];
  expect(spansOf(traceId)).toHaveLength(3);
  expect([request.parentSpanId, append.parentSpanId, project.parentSpanId]).toEqual([
    spanId,
    request.spanId,
    append.spanId,
  ]);
  expect(request.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/tables',
    'http.response.status_code': 201,
  });
  expect(append.attributes).toMatchObject({ 'tablog.event': 'TableCreateRequested' });
  expect(project.attributes['tablog.partition']).toBe(append.attributes['tablog.partition']);
  for (const span of [request, append, project]) {
    expect(span.process['service.name']).toBe('tables of ours');
    expect(span.status.code ?? 0).toBe(0);
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
  }
  const split = deploymentKind === 'kafka-split';
  expect([request, append, project].map(({ process }) => process['tablog.role'])).toEqual(
    split ? ['api', 'api', 'projector'] : ['all', 'all', 'all'],
  );
});

test('if a client does not sample its trace, the service does not sample it either', async () => {
  const { traceId, spanId } = newTrace();
  await client().post('/tables', { name: 'untraced', rows: [] }, { traceparent: `00-${traceId}-${spanId}-00` });
  const after = newTrace();
  await client().get('/tables', { traceparent: `00-${after.traceId}-${after.spanId}-01` });
  await client().post(
    '/tables',
    { name: 'traced again', rows: [] },
    { traceparent: `00-${after.traceId}-${after.spanId}-01` },
  );
  await sleepUntil(
    () => Promise.resolve(spansOf(after.traceId).length >= 4),
    'the collector has the spans of later requests',
  );
  expect(spansOf(traceId)).toEqual([]);
});

test('a malformed or missing trace context begins a new trace', async () => {
  const before = collector.spans.length;
  expect((await client().get('/tables', { traceparent: 'nonsense' })).status).toBe(200);
  expect((await client().get('/nothing')).status).toBe(404);
  await sleepUntil(() => Promise.resolve(collector.spans.length >= before + 2), 'the collector has the spans');
  const roots = collector.spans.slice(before);
  expect(roots.map(({ name, parentSpanId }) => [name, parentSpanId ?? '']).toSorted()).toEqual([
    ['GET /tables', ''],
    ['GET', ''],
  ]);
});

test('a collector that hangs delays nothing, not even the end of the process', async () => {
  collector.hang();
  expect((await client().post('/tables', { name: 'unseen', rows: [] })).status).toBe(201);
  await sleepUntil(() => Promise.resolve(collector.unanswered > 0), 'spans were sent to the collector');
  expect((await client().get('/tables')).status).toBe(200);
  // What stops the service after the tests fails unless it ends cleanly.
});

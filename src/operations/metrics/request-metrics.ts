/** Metrics of requests. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { shareNames, type RefusedBy, type ShareName } from '../../api/http/limits/fair-shares.ts';
import type { Refusal } from '../../language/values/refusal.ts';
import { quotaOfRefusal, planQuotas } from '../../language/events/quota.ts';
import { isOfShare } from '../../api/usage/disk-share.ts';
import {
  closeReasons,
  limitNames,
  type CloseReason,
  type LimitName,
  type RequestObserver,
} from '../../api/http/server/request-observer.ts';
import { latencyBuckets } from './latency-buckets.ts';
import { quotaLabel } from './quota-metrics.ts';

type Observe = (seconds: number) => void;

/** The methods with their own label. All others share one, because clients may send any text. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The label for the share of a disk that a team may take in a day. It is not a quota but is counted like one. */
const shareLabel = 'disk_share';

export class RequestMetrics implements RequestObserver {
  readonly #durations: Histogram<'method' | 'route' | 'status'>;
  /** Observers by method, route and status, so that a set of labels is resolved once and not for each request. */
  readonly #observers = new Map<string, Map<string | null, Map<number | null, Observe>>>();
  readonly #rateLimited: Counter<'limit'>;
  readonly #connectionsClosed: Counter<'reason'>;
  readonly #shareRefused: Counter<'share' | 'by'>;
  readonly #quotaRefusals: Counter<'quota'>;
  #inFlight = 0;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#durations = new Histogram({
      name: 'tablog_http_request_duration_seconds',
      help: 'From the arrival of a request to the end of its answer, by method, route pattern and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: latencyBuckets,
      registers,
    });
    this.#rateLimited = new Counter({
      name: 'tablog_http_requests_rate_limited_total',
      help: 'Requests that were refused because their team or client address has used up a rate limit.',
      labelNames: ['limit'],
      registers,
    });
    this.#connectionsClosed = new Counter({
      name: 'tablog_http_connections_closed_total',
      help: 'Connections that were closed because one client address, or all together, opened or held too many.',
      labelNames: ['reason'],
      registers,
    });
    this.#shareRefused = new Counter({
      name: 'tablog_share_refused_total',
      help: 'Requests that were refused because the share of their team, or of the process, stayed full.',
      labelNames: ['share', 'by'],
      registers,
    });
    // Create each counter at 0: a counter that first appears at 1 shows no increase in Prometheus.
    for (const limit of limitNames) this.#rateLimited.inc({ limit }, 0);
    for (const reason of closeReasons) this.#connectionsClosed.inc({ reason }, 0);
    for (const share of shareNames)
      for (const by of ['team', 'process'] as const) this.#shareRefused.inc({ share, by }, 0);
    this.#quotaRefusals = new Counter({
      name: 'tablog_quota_refusals_total',
      help: 'Requests that were refused because their team has used up a quota.',
      labelNames: ['quota'],
      registers,
    });
    for (const quota of [...planQuotas.map(quotaLabel), shareLabel]) this.#quotaRefusals.inc({ quota }, 0);
    const inFlight: Gauge = new Gauge({
      name: 'tablog_http_requests_in_flight',
      help: 'Requests being answered, including this scrape.',
      registers,
      collect: () => inFlight.set(this.#inFlight),
    });
  }

  began(): void {
    this.#inFlight += 1;
  }

  shareRefused(share: ShareName, by: RefusedBy): void {
    this.#shareRefused.inc({ share, by });
  }

  rateLimited(limit: LimitName): void {
    this.#rateLimited.inc({ limit });
  }

  connectionClosed(reason: CloseReason): void {
    this.#connectionsClosed.inc({ reason });
  }

  refused({ message }: Refusal): void {
    const quota = quotaOfRefusal(message);
    if (quota !== null) this.#quotaRefusals.inc({ quota: quotaLabel(quota) });
    else if (isOfShare(message)) this.#quotaRefusals.inc({ quota: shareLabel });
  }

  ended(method: string, route: string | null, status: number | null, ms: number): void {
    this.#inFlight -= 1;
    const observe = this.#observers.get(method)?.get(route)?.get(status) ?? this.#addObserver(method, route, status);
    observe(ms / 1000);
  }

  #addObserver(method: string, route: string | null, status: number | null): Observe {
    const known = methods.has(method) ? method : 'other';
    const child = this.#durations.labels(known, route ?? 'none', status === null ? 'cut_off' : String(status));
    const observe: Observe = (seconds) => child.observe(seconds);
    const byRoute = getOrAdd(this.#observers, method, () => new Map<string | null, Map<number | null, Observe>>());
    getOrAdd(byRoute, route, () => new Map<number | null, Observe>()).set(status, observe);
    return observe;
  }
}

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

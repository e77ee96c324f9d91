/** The Helm chart in deploy/ is linted and rendered, without a cluster. */
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { readConfig } from '../../../src/app/config.ts';
import { helm } from '../../support/helm.ts';
import { deployFolder } from '../../support/watching.ts';

const chart = join(deployFolder, 'helm/tablog');
const needed = [
  'settings.KAFKA_BROKERS=kafka:9092',
  'secret.DATABASE_URL=postgres://a:b@c/d',
  'settings.FILES_S3_BUCKET=files',
];

interface Container {
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe: unknown;
  readonly readinessProbe: unknown;
}

interface Made {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas: number;
    readonly selector: unknown;
    readonly template: {
      readonly metadata: { readonly annotations: object };
      readonly spec: { readonly containers: readonly [Container] };
    };
  };
}

const template = (values: readonly string[]): ReturnType<typeof helm> =>
  helm('template', 'ours', chart, ...values.flatMap((value) => ['--set', value]));

function render(...values: string[]): Made[] {
  const { ok, output } = template([...needed, ...values]);
  expect({ ok, output }).toMatchObject({ ok: true });
  return parseAllDocuments(output)
    .map((document) => document.toJS() as Made | null)
    .filter((made) => made !== null);
}

test('lint finds nothing', () => {
  expect(helm('lint', '--strict', chart, ...needed.flatMap((value) => ['--set', value]))).toMatchObject({ ok: true });
});

test('there are APIs behind a service, projectors, and a budget for each', () => {
  const names = render()
    .map(({ kind, metadata: { name } }) => `${kind} ${name}`)
    .toSorted();
  expect(names).toEqual([
    'ConfigMap ours-tablog',
    'Deployment ours-tablog-api',
    'Deployment ours-tablog-projector',
    'NetworkPolicy ours-tablog',
    'PodDisruptionBudget ours-tablog-api',
    'PodDisruptionBudget ours-tablog-projector',
    'Secret ours-tablog',
    'Service ours-tablog',
  ]);
});

test.each(['api', 'projector'])('the settings of the %s are those of the service', (role) => {
  const made = render();
  const one = (kind: string, name: string): Made =>
    made.find((each) => each.kind === kind && each.metadata.name === name)!;
  const { env, ports, livenessProbe, readinessProbe } = one('Deployment', `ours-tablog-${role}`).spec.template.spec
    .containers[0];
  const own = Object.fromEntries(env.map(({ name, value }) => [name, value ?? '10.0.0.1']));
  const config = readConfig({
    ...one('ConfigMap', 'ours-tablog').data,
    ...one('Secret', 'ours-tablog').stringData,
    ...own,
  });
  expect(config).toMatchObject({
    ROLE: role,
    KAFKA_BROKERS: expect.anything(),
    DATABASE_URL: 'postgres://a:b@c/d',
    FILES_S3_BUCKET: 'files',
  });
  expect(ports).toEqual([
    { name: 'http', containerPort: config.PORT },
    { name: 'metrics', containerPort: config.METRICS_PORT },
  ]);
  expect([livenessProbe, readinessProbe]).toMatchObject([
    { httpGet: { path: '/livez', port: 'metrics' } },
    { httpGet: { path: '/readyz', port: 'metrics' } },
  ]);
});

test('Prometheus is configured only on request', () => {
  expect(JSON.stringify(render())).not.toMatch(/prometheus\.io|PodMonitor/);
  const made = render('podMonitor.enabled=true', 'prometheusAnnotations=true');
  expect(made.map(({ kind }) => kind)).toContain('PodMonitor');
  expect(made.find(({ kind }) => kind === 'Deployment')!.spec.template.metadata.annotations).toMatchObject({
    'prometheus.io/port': '9090',
  });
});

describe('the network policy', () => {
  const pods = { matchLabels: { 'app.kubernetes.io/name': 'tablog', 'app.kubernetes.io/instance': 'ours' } };
  const monitoring = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
  const policyOf = (...values: string[]): unknown =>
    render(...values).find(({ kind }) => kind === 'NetworkPolicy')?.spec;

  test('lets everybody reach the interface, and Prometheus the metrics', () => {
    expect(policyOf()).toEqual({
      podSelector: pods,
      policyTypes: ['Ingress'],
      ingress: [
        { ports: [{ port: 'http' }] },
        { ports: [{ port: 'metrics' }], from: [{ podSelector: {} }, monitoring] },
        { from: [{ podSelector: pods }] },
      ],
    });
  });

  test('lets only named clients reach the interface', () => {
    const spec = policyOf(
      'networkPolicy.from[0].namespaceSelector.matchLabels.name=edge',
      'networkPolicy.metricsFrom=null',
    );
    expect(spec).toMatchObject({
      ingress: [
        { from: [{ namespaceSelector: { matchLabels: { name: 'edge' } } }] },
        { from: [{ podSelector: {} }] },
        {},
      ],
    });
  });

  test('can be left out', () => {
    expect(policyOf('networkPolicy.enabled=false')).toBeUndefined();
  });
});

test('an image is named by its tag, or by its digest', () => {
  const imageOf = (...values: string[]): string =>
    render('image.repository=registry.example.org/tablog', ...values).find(({ kind }) => kind === 'Deployment')!.spec
      .template.spec.containers[0].image;
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
  expect(imageOf()).toBe('registry.example.org/tablog:0.1.0');
  expect(imageOf('image.tag=1.2.3')).toBe('registry.example.org/tablog:1.2.3');
  expect(imageOf('image.tag=1.2.3', `image.digest=${digest}`)).toBe(`registry.example.org/tablog@${digest}`);
});

describe('settings that cannot work', () => {
  test.each([
    ['no brokers', ['secret.DATABASE_URL=postgres://a:b@c/d'], 'settings.KAFKA_BROKERS'],
    ['no Postgres', ['settings.KAFKA_BROKERS=kafka:9092'], 'secret.DATABASE_URL'],
    ['no place for files', needed.slice(0, 2), 'settings.FILES_S3_BUCKET'],
    ['two secrets', [...needed, 'existingSecret=mine'], 'existingSecret'],
    ['no replicas', [...needed, 'api.replicas=0'], 'api.replicas'],
    ['more projectors than partitions', [...needed, 'projector.replicas=13'], 'projector.replicas'],
    ['a setting that the chart makes', [...needed, 'settings.ROLE=api'], 'settings.ROLE'],
    ['a digest that is none', [...needed, 'image.digest=latest'], 'image'],
    ['an unknown value', [...needed, 'apis.replicas=2'], 'apis'],
  ])('a chart with %s is refused', (_what, values, named) => {
    expect(template(values)).toEqual({ ok: false, output: expect.stringContaining(named) });
  });
});

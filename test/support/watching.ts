/** The alerts and the dashboard of deploy/, and the metrics that they name. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const deployFolder = join(import.meta.dirname, '../../deploy');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
}

export function readAlerts(): Alert[] {
  const { groups } = parse(readFileSync(join(deployFolder, 'prometheus/alerts.yml'), 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly Alert[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

/** The panels that show data. */
export function readPanels(): Panel[] {
  const { panels } = JSON.parse(readFileSync(join(deployFolder, 'grafana/tablog.json'), 'utf8')) as {
    readonly panels: readonly Panel[];
  };
  return panels.filter(({ type }) => type !== 'row');
}

export function expressionsOf(panels: readonly Panel[]): string[] {
  return panels.flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr));
}

/** The metrics that expressions name, sorted, except those that Prometheus itself adds to a scrape. */
export function metricsIn(expressions: readonly string[]): string[] {
  const names = expressions.flatMap((expression) => expression.match(/\b(?:tablog|process|nodejs)_[a-z0-9_]+/g) ?? []);
  return [...new Set(names)].toSorted();
}

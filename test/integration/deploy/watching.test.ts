/**
 * The alerts and the dashboard of deploy/, checked by promtool. test/api/metrics.test.ts checks that the service
 * exposes the metrics that they name.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { promtool } from '../../support/promtool.ts';
import { deployFolder, expressionsOf, readAlerts, readPanels } from '../../support/watching.ts';

const root = join(deployFolder, '..');

/** Checks expressions as those of recording rules. */
async function checkExpressions(
  expressions: readonly string[],
): Promise<{ readonly ok: boolean; readonly output: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-rules-'));
  try {
    const file = join(folder, 'rules.yml');
    await writeFile(
      file,
      stringify({
        groups: [{ name: 'all', rules: expressions.map((expr, at) => ({ record: `checked:${at}`, expr })) }],
      }),
    );
    return promtool('check', 'rules', file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('the alerts', () => {
  test('fire when they should, and not before', () => {
    const { ok, output } = promtool('test', 'rules', join(deployFolder, 'prometheus/alerts.test.yml'));
    expect({ ok, output }).toEqual({ ok: true, output: expect.stringContaining('SUCCESS') });
  });

  test('each has a test in which it fires', () => {
    const { tests } = parse(readFileSync(join(deployFolder, 'prometheus/alerts.test.yml'), 'utf8')) as {
      readonly tests: readonly {
        readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts: readonly unknown[] }[];
      }[];
    };
    const fired = tests
      .flatMap((one) => one.alert_rule_test)
      .filter((one) => one.exp_alerts.length > 0)
      .map(({ alertname }) => alertname);
    expect(fired.toSorted()).toEqual(
      readAlerts()
        .map(({ alert }) => alert)
        .toSorted(),
    );
  });

  test.each(readAlerts())(
    '$alert leads to a section of a runbook',
    ({ annotations: { runbook }, labels: { severity } }) => {
      const [file, anchor] = runbook.split('#');
      const headings = readFileSync(join(root, file!), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('## '));
      // Anchors of headings, as GitHub makes them.
      const anchors = headings.map((line) =>
        line
          .slice(3)
          .toLowerCase()
          .replace(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      );
      expect(anchors).toContain(anchor);
      expect(['critical', 'warning']).toContain(severity);
    },
  );
});

describe('the dashboard', () => {
  test.each(readPanels())('$title says what it shows', ({ description, targets }) => {
    expect(description).toMatch(/\w.*\.$/);
    expect(targets).not.toHaveLength(0);
  });

  test('all its expressions are PromQL', async () => {
    const expressions = expressionsOf(readPanels()).map((expr) =>
      expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'tablog'),
    );
    expect(expressions.join(' ')).not.toContain('$');
    expect(await checkExpressions(expressions)).toEqual({
      ok: true,
      output: expect.stringContaining(`${expressions.length} rules found`),
    });
    expect((await checkExpressions([...expressions, 'sum(up'])).ok).toBe(false);
  });
});

/** Helm, for the chart in deploy/: `go install helm.sh/helm/v3/cmd/helm@v3.18.4`, or HELM=path. */
import { spawnSync } from 'node:child_process';
import { env } from 'node:process';

const program = env['HELM'] ?? 'helm';

export function hasHelm(): boolean {
  return spawnSync(program, ['version']).status === 0;
}

/** The output, and whether the command succeeded. */
export function helm(...args: string[]): { readonly ok: boolean; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (error !== undefined) throw error;
  return { ok: status === 0, output: status === 0 ? stdout : stdout + stderr };
}

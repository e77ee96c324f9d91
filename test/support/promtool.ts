/** Promtool, as Debian's package `prometheus` installs it, together with Prometheus itself. */
import { spawnSync } from 'node:child_process';

export function hasPromtool(): boolean {
  return spawnSync('promtool', ['--version']).status === 0;
}

/** The output, and whether the checks succeeded. */
export function promtool(...args: string[]): { readonly ok: boolean; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { encoding: 'utf8' });
  if (error !== undefined) throw error;
  return { ok: status === 0, output: stdout + stderr };
}

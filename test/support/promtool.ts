/** Promtool, as the package `prometheus` of Debian installs it; Prometheus itself comes with it. */
import { spawnSync } from 'node:child_process';

export function hasPromtool(): boolean {
  return spawnSync('promtool', ['--version']).status === 0;
}

/** What it writes, and whether it found everything in order. */
export function promtool(...args: string[]): { readonly ok: boolean; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { encoding: 'utf8' });
  if (error !== undefined) throw error;
  return { ok: status === 0, output: stdout + stderr };
}

/** `tablog verify`, as an operator runs it. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const tablog = fileURLToPath(new URL('../../src/cli/tablog.ts', import.meta.url));

/** The output of `tablog verify` in this environment, and its exit code: 0 if the read model matches the log. */
export function verify(environment: Readonly<Record<string, string>>): Promise<{ exitCode: number; output: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ exitCode: number; output: string }>();
  const env = { ...process.env, DATABASE_URL: '', LOG_LEVEL: 'warn', ...environment };
  const child = execFile(process.execPath, [tablog, 'verify'], { env }, (_error, stdout, stderr) => {
    resolve({ exitCode: child.exitCode ?? -1, output: stdout + stderr });
  });
  child.once('error', reject);
  return promise;
}

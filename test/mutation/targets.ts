/** Which files are mutated, and which tests should notice. */
import { globSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

export interface MutationTarget {
  readonly name: string;
  readonly files: readonly string[];
  /** Whether the simulation runs this code. */
  readonly isSimulated: boolean;
  /** Files in test/api that use it most. */
  readonly api: readonly string[];
}

function target(
  name: string,
  patterns: readonly string[],
  rest: Pick<MutationTarget, 'isSimulated' | 'api'>,
): MutationTarget {
  const files = patterns.flatMap((pattern) => {
    const found = globSync(pattern, { cwd: root });
    if (found.length === 0) throw new Error(`there is no file ${pattern} to plant mutants into`);
    return found;
  });
  return { name, files: files.toSorted(), ...rest };
}

const writes = [
  'add-rows',
  'create-table',
  'delete-row',
  'idempotency',
  'model',
  'overwrite-table',
  'patch-row',
  'stashes',
  'versions',
];

export const targets: readonly MutationTarget[] = [
  target('decisions', ['projections/*/decide-*.ts', 'projections/*/*.state.ts'], {
    isSimulated: true,
    api: [...writes, 'deleted-table', 'stash-limits', 'uploads'],
  }),
  target(
    'batches',
    [
      'src/log/batch/batch*.ts',
      'src/log/batch/fair-queue.ts',
      'src/log/batch/partition-batches.ts',
      'src/log/batch/speculative-batch.ts',
      'src/log/project-records.ts',
      'src/log/projector.ts',
    ],
    { isSimulated: true, api: writes },
  ),
  target('outcomes', ['src/log/outcomes/*.ts', 'src/api/http/submit/*.ts', 'src/language/events/outcome.ts'], {
    isSimulated: true,
    api: ['asynchronous', 'errors', 'idempotency', 'job-list', 'jobs', 'versions'],
  }),
  target('queries', ['src/api/query/sql/*.ts', 'src/api/query/engine/compile.ts'], {
    isSimulated: false,
    api: ['queries', 'random-queries', 'sql', 'sql-attempts'],
  }),
];

import { beforeAll } from '@jest/globals';
import type { Service } from '../../src/app/service.ts';
import type { ApiOfFile } from './api.ts';
import { openOperator } from './open-operator.ts';

/**
 * Joins the file's service as an operator, without HTTP or background work: tests run the background work through it.
 * Loading it loads the whole service; most files need none. Call the result within tests.
 */
export function useOperator({ api }: Pick<ApiOfFile, 'api'>): () => Service {
  let operator: Service | undefined;
  beforeAll(async () => {
    const opened = (operator = await openOperator(api().operatorEnvironment));
    api().closers.push(() => opened.close());
  });
  return () => operator!;
}

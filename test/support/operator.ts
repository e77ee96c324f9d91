import { beforeAll } from '@jest/globals';
import type { Service } from '../../src/app/service.ts';
import type { ApiOfFile } from './api.ts';
import { openOperator } from './open-operator.ts';

/**
 * Joins the file's service as an operator, without HTTP or background work. Tests run background work through it.
 * Loading this loads the whole service, and most files do not need it. Call the result within tests.
 */
export function useOperator({ api }: Pick<ApiOfFile, 'api'>): () => Service {
  let operator: Service | undefined;
  beforeAll(async () => {
    const opened = (operator = await openOperator(api().operatorEnvironment));
    api().closers.push(() => opened.close());
  });
  return () => operator!;
}

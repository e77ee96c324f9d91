import { beforeAll } from '@jest/globals';
import type { Service } from '../../src/app/service.ts';
import type { ApiOfFile } from './api.ts';
import { openOperator } from './open-operator.ts';

/**
 * A process of the file's service that answers nobody and does nothing by itself: what is done in the background, tests do with it.
 * A file that has one loads the whole service; most need none. To be used within tests.
 */
export function useOperator({ api }: Pick<ApiOfFile, 'api'>): () => Service {
  let operator: Service | undefined;
  beforeAll(async () => {
    const opened = operator = await openOperator(api().operatorEnvironment);
    api().closers.push(() => opened.close());
  });
  return () => operator!;
}

/** The query processes of a service, as the operating system knows them. Linux only. */
import { readFile } from 'node:fs/promises';
import type { ProcessKind } from '../../src/api/query/protocol.ts';

/** The ID of the query process of this kind that a service has started; null if there is none. */
export async function findQueryProcess(service: number, kind: ProcessKind): Promise<number | null> {
  const children = (await readFile(`/proc/${service}/task/${service}/children`, 'utf8'))
    .split(' ')
    .filter((text) => text !== '');
  for (const child of children) {
    const [command, status] = await Promise.all(
      ['cmdline', 'status'].map((name) => readFile(`/proc/${child}/${name}`, 'utf8').catch(() => '')),
    );
    if (command!.endsWith(`query/engine/main.ts\0${kind}\0`) && !status!.includes('State:\tZ')) return Number(child);
  }
  return null;
}

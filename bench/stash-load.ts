/** Loads a table through a stash: chunks on several connections, then one import. */
import { Connection } from './connection.ts';
import { makeRows, rowsPerRequest, customerSchema, seededRandom } from './data.ts';
import { expectStatus, head, withBody, type Target } from './requests.ts';

/** The number of different bodies, which are sent in turn; limited to save memory. */
const differentBodies = 40;

export interface StashLoad {
  stash: string;
  chunks: number;
  connections: number;
}

export interface Loaded {
  tableID: string;
  lastID: string;
  /**
   * Seconds from the import's request to the first byte of its answer, when the import is done, and to its last byte,
   * after all row IDs.
   */
  importing: number;
  answering: number;
}

/** Makes the bodies of chunks, with `rowsPerRequest` rows each. */
export function makeChunkBodies(): Buffer[] {
  const random = seededRandom(1);
  return Array.from({ length: differentBodies }, () => Buffer.from(JSON.stringify(makeRows(random, rowsPerRequest))));
}

/** Uploads `chunks` chunks, and imports them into a new table. */
export async function loadStash(
  target: Target,
  bodies: readonly Buffer[],
  load: StashLoad,
  signal: AbortSignal,
): Promise<Loaded> {
  await uploadChunks(target, bodies, load, signal);
  const connection = await Connection.open(target.ports[0]!);
  try {
    const start = performance.now();
    const body = Buffer.from(
      JSON.stringify({ name: load.stash, schema: customerSchema, rows: { $stashID: load.stash } }),
    );
    const imported = await connection.send(withBody(head(target, 'POST', '/tables'), body));
    const [importing, answering] = [imported.firstByteAt, performance.now()].map((time) => (time - start) / 1_000) as [
      number,
      number,
    ];
    const answer = expectStatus(201, imported);
    const [, tableID] = /"tableID":"([^"]+)"/.exec(answer.toString('latin1', 0, 200))!;
    const [, lastID] = /"([^"]+)"\]\}\}$/.exec(answer.toString('latin1', answer.length - 100))!;
    return { tableID: tableID!, lastID: lastID!, importing, answering };
  } finally {
    connection.close();
  }
}

/** Uploads chunks to a stash: the bodies in turn. */
export async function uploadChunks(
  target: Target,
  bodies: readonly Buffer[],
  { stash, chunks, connections }: StashLoad,
  signal: AbortSignal,
): Promise<void> {
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(target.ports[0]!)));
  try {
    let begun = 0;
    await Promise.all(
      open.map(async (connection) => {
        while (begun < chunks) {
          signal.throwIfAborted();
          const serial = begun++;
          const request = withBody(head(target, 'PUT', `/stashes/${stash}/${serial}`), bodies[serial % bodies.length]!);
          expectStatus(200, await connection.send(request));
        }
      }),
    );
  } finally {
    for (const connection of open) connection.close();
  }
}

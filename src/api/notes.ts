/** What Postgres holds beside the log and the read model, and outlives a rebuild: one kind of notes per line. */
import type pg from 'pg';
import { createTokenNotes } from '../storage/security/token-notes.ts';
import { createJobNotes } from './jobs/job-notes.ts';
import { createEngineAddresses } from './query/engine-addresses.ts';
import { createLogBytesNotes } from './usage/log-bytes-notes.ts';

const notes: readonly ((pool: pg.Pool) => Promise<void>)[] = [
  createTokenNotes,
  createLogBytesNotes,
  createJobNotes,
  createEngineAddresses,
];

/** Creates the tables of all notes unless they exist. Safe to call concurrently from many processes. */
export async function createNotes(pool: pg.Pool): Promise<void> {
  for (const create of notes) await create(pool);
}

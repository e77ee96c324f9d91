/**
 * Lets code that opens its own connections to Postgres, as operators' commands do, connect to the model: to the server
 * of the present history, for the running process.
 */
import { readFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import pg from 'pg';
import { Database, type DatabaseOptions } from '../../src/storage/database/database.ts';
import { currentProcess, type SimulatedProcess } from './clock.ts';
import { SimulatedDatabase, type SimulatedPgClient } from './database.ts';
import type { PostgresServer } from './postgres.ts';

/** The server of the history, and the connections that each process has opened itself. */
let present: { readonly server: PostgresServer; readonly opened: Map<SimulatedProcess, SimulatedDatabase[]> } | null =
  null;

/** From now on connections lead to this server. */
export function connectAllTo(server: PostgresServer): void {
  present = { server, opened: new Map() };
}

/** Cuts the lines of all connections that a process has opened itself. */
export function cutConnectionsOf(process: SimulatedProcess): void {
  for (const database of present!.opened.get(process) ?? []) database.cut();
}

function open(schema: string): SimulatedDatabase {
  const process = currentProcess();
  const { server, opened } = present!;
  const database = new SimulatedDatabase(server, process, schema);
  opened.set(process, [...(opened.get(process) ?? []), database]);
  return database;
}

/** Replaces Postgres by the model. Call it before importing code that uses it. */
export function simulatePostgres(): void {
  pg.Client = function Client(): SimulatedPgClient {
    return open('').client();
  } as unknown as typeof pg.Client;
  Database.open = async ({ schema }: DatabaseOptions) => open(schema).asDatabase;
  // The SQL that creates a read model. It is read synchronously, because simulated time would pass during a wait for
  // the disk.
  Object.assign(files, { readFile: async (path: string, encoding: BufferEncoding) => readFileSync(path, encoding) });
  syncBuiltinESMExports();
}

/**
 * The yardstick of uploads: a bare Node HTTP server that pipes bodies to files, flushes them to disk, and pipes them
 * back. It has no signatures, no limits, and does not rename files.
 *
 * Environment: PORT, and FOLDER for the files.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';

const folder = process.env['FOLDER']!;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const file = join(folder, basename(request.url!));
  if (request.method === 'PUT') await pipeline(request, createWriteStream(file, { flush: true }));
  if (request.method === 'GET' && request.url !== '/readyz') await pipeline(createReadStream(file), response);
  else response.end();
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    console.error(error);
    response.destroy();
  });
});
server.listen(Number(process.env['PORT']), '127.0.0.1');
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});

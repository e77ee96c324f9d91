/** A process that takes too much memory, or does not answer, is noticed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test } from '@jest/globals';
import { ProcessWatch } from '../../../../src/api/query/process-watch.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

/** A process that listens, and answers all requests; `more`: what else it does. */
async function launch(more: string): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const code = `const server = require('node:http').createServer((request, response) => response.end());
    server.listen(0, '127.0.0.1', () => console.log(server.address().port)); ${more}`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  closers.push(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const [port] = (await once(child.stdout!, 'data')) as [Buffer];
  return { child, url: `http://127.0.0.1:${String(port).trim()}` };
}

/** Resolves to why the watch says that the process must be ended. */
function watch(
  { child, url }: Awaited<ReturnType<typeof launch>>,
  residentBytesMax: number,
  probeMs: number,
): Promise<string> {
  return new Promise((resolve) => {
    const watching = new ProcessWatch({
      pid: child.pid!,
      address: { url, secret: 'x' },
      residentBytesMax,
      memoryEveryMs: 20,
      probeEveryMs: 100,
      probeMs,
      onBad: resolve,
    });
    closers.push(async () => watching.close());
  });
}

test('a process that takes too much memory is ended', async () => {
  const launched = await launch('setTimeout(() => { globalThis.taken = Buffer.alloc(400 * 2 ** 20, 1); }, 300);');
  // It does not answer while it fills the memory, which takes long on a busy machine.
  expect(await watch(launched, 300 * 2 ** 20, 60_000)).toMatch(
    /^it uses \d+ bytes of memory, more than its limit of 314572800$/,
  );
});

test('a process that hangs is ended', async () => {
  const launched = await launch('');
  launched.child.kill('SIGSTOP');
  expect(await watch(launched, 2 ** 40, 500)).toBe('it does not answer');
});

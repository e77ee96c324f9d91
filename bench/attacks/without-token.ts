/** Attacks by somebody who has no token. */
import { once } from 'node:events';
import type { Attack } from './attack.ts';

const requestOf = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;

export const liveness: Attack = {
  name: 'liveness',
  what: '/livez over 64 connections, without a token',
  insteadOf: 'the same over 8',
  teams: 1,
  async prepare([target], isHarmful) {
    const request = Buffer.from(requestOf('/livez'));
    return (run) => run.repeat(target, isHarmful ? 64 : 8, () => request);
  },
};

export const unreadConsole: Attack = {
  name: 'unread-console',
  what: '8 connections, each of which sends 500 GETs of a file of the console at once, and reads nothing',
  insteadOf: 'GETs of the same file over 8 connections',
  teams: 1,
  async prepare([target], isHarmful) {
    const page = await (await fetch(`http://127.0.0.1:${target.ports[0]}/`)).text();
    const [, file] = /"(console\/main-\w+\.js)"/.exec(page) ?? [];
    if (file === undefined) throw new Error('the console is not built: run "npm run prepare"');
    const request = requestOf(`/${file}`);
    if (!isHarmful) return (run) => run.repeat(target, 8, () => Buffer.from(request));
    return (run) => run.keepOpen(target, 8, async (socket) => {
      socket.pause();
      socket.write(request.repeat(500));
      if (!socket.destroyed) await once(socket, 'close', { signal: run.signal });
    });
  },
};

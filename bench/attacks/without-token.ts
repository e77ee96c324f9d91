/** Attacks without a token. Each load, also a normal one, comes from its own address. */
import { once } from 'node:events';
import type { Target } from '../requests.ts';
import type { Attack, Load } from './attack.ts';

const requestOf = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;

/** Addresses of the loopback network; Linux has all of them. */
const from = (target: Target, isHarmful: boolean): Target => ({
  ...target,
  from: isHarmful ? '127.0.0.66' : '127.0.0.8',
});

/** 80 requests a second over 8 connections. */
const behaving =
  (target: Target, path: string): Load =>
  (run) =>
    run.repeatEvery(from(target, false), 100, 8, Buffer.from(requestOf(path)));

export const liveness: Attack = {
  name: 'liveness',
  what: '/livez over 64 connections, without a token',
  insteadOf: '80 requests of /livez a second over 8',
  teams: 1,
  async prepare([target], isHarmful) {
    const request = Buffer.from(requestOf('/livez'));
    if (!isHarmful) return behaving(target, '/livez');
    return (run) => run.repeat(from(target, true), 64, () => request);
  },
};

export const unreadConsole: Attack = {
  name: 'unread-console',
  what: '8 connections, each of which sends 500 GETs of a file of the console at once, reads nothing, and comes back when it is closed',
  insteadOf: '80 GETs of the same file a second over 8 connections',
  teams: 1,
  async prepare([target], isHarmful) {
    const page = await (await fetch(`http://127.0.0.1:${target.ports[0]}/`)).text();
    const [, file] = /"(console\/main-\w+\.js)"/.exec(page) ?? [];
    if (file === undefined) throw new Error('the console is not built: run "npm run prepare"');
    if (!isHarmful) return behaving(target, `/${file}`);
    const requests = requestOf(`/${file}`).repeat(500);
    return (run) =>
      run.keepOpen(from(target, true), 8, async (socket) => {
        socket.pause();
        socket.write(requests);
        if (!socket.destroyed) await once(socket, 'close', { signal: run.signal });
      });
  },
};

export const reconnects: Attack = {
  name: 'reconnects',
  what: '64 connections, each of which is closed after its first answer and opened again',
  insteadOf: '80 requests of /livez a second over 8',
  teams: 1,
  async prepare([target], isHarmful) {
    if (!isHarmful) return behaving(target, '/livez');
    return (run) =>
      run.keepOpen(from(target, true), 64, async (socket) => {
        socket.write(requestOf('/livez'));
        const answered = once(socket, 'data', { signal: run.signal });
        await Promise.race([answered, once(socket, 'close', { signal: run.signal })]);
      });
  },
};

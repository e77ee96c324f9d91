/** What a process remembers of the activity of teams. */
import type { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { TeamActivity, type ActiveMinute } from '../../../../src/api/usage/team-activity.ts';

const minute = 60_000;
/** In the middle of a minute. */
const began = 29_000_000 * minute + 30_000;
let now = began;

const socketOf = (bytesRead: number, bytesWritten: number): Socket => ({ bytesRead, bytesWritten }) as Socket;
const nothing = {
  '2xx': 0,
  '3xx': 0,
  '4xx': 0,
  '5xx': 0,
  'cutOff': 0,
  'rowsWritten': 0,
  'rowsRead': 0,
  'bytesReceived': 0,
  'bytesSent': 0,
};
const startOf = (time: number): number => Math.floor(time / minute) * minute;

function begin(): TeamActivity {
  now = began;
  return new TeamActivity(() => now);
}

const startsOf = (minutes: readonly ActiveMinute[]): number[] =>
  minutes.map(({ start }) => (start - startOf(began)) / minute);

test('counts belong to their minute', () => {
  const activity = begin();
  activity.requestEnded('t', 200, socketOf(10, 100));
  activity.requestEnded('t', 404, socketOf(20, 200));
  now += minute;
  activity.requestEnded('t', null, socketOf(5, 0));
  activity.requestEnded('t', 503, socketOf(5, 7));
  activity.rowsWritten('t', 3);
  activity.rowsRead('t', 4);
  expect(activity.since).toBe(began);
  expect(activity.minutesOf('t')).toEqual([
    { ...nothing, 'start': startOf(began), '2xx': 1, '4xx': 1, 'bytesReceived': 30, 'bytesSent': 300 },
    {
      ...nothing,
      'start': startOf(now),
      '5xx': 1,
      'cutOff': 1,
      'rowsWritten': 3,
      'rowsRead': 4,
      'bytesReceived': 10,
      'bytesSent': 7,
    },
  ]);
});

test('counts are kept for an hour, and there are none from before the process', () => {
  const activity = begin();
  expect(startsOf(activity.minutesOf('t'))).toEqual([0]);
  for (let n = 0; n < 100; n += 1) {
    activity.rowsRead('t', n + 1);
    now += minute;
  }
  const minutes = activity.minutesOf('t');
  expect(startsOf(minutes)).toEqual(Array.from({ length: 60 }, (_, at) => 41 + at));
  expect(minutes.map(({ rowsRead }) => rowsRead)).toEqual([...Array.from({ length: 59 }, (_, at) => 42 + at), 0]);
  now += 60 * minute;
  expect(activity.minutesOf('t').every(({ rowsRead }) => rowsRead === 0)).toBe(true);
});

test('bytes of a connection count once, and those before a valid token for no team', () => {
  const activity = begin();
  const socket = { bytesRead: 100, bytesWritten: 1000 };
  activity.requestEnded(null, 404, socket as Socket);
  Object.assign(socket, { bytesRead: 130, bytesWritten: 1500 });
  activity.requestEnded('a', 200, socket as Socket);
  Object.assign(socket, { bytesRead: 150, bytesWritten: 1600 });
  activity.requestEnded('b', 200, socket as Socket);
  expect(['a', 'b', 'c'].map((team) => activity.minutesOf(team)[0])).toMatchObject([
    { bytesReceived: 30, bytesSent: 500 },
    { bytesReceived: 20, bytesSent: 100 },
    { bytesReceived: 0, bytesSent: 0 },
  ]);
});

test('the most recently active teams are kept', () => {
  const activity = begin();
  for (let n = 0; n < 1001; n += 1) activity.rowsRead(`team ${n}`, 1);
  expect([0, 1, 1000].map((n) => activity.minutesOf(`team ${n}`)[0]!.rowsRead)).toEqual([0, 1, 1]);
});

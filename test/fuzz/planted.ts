/** Answers with a fault each, which the checks must find; the first has none. */
import type { RawAnswer } from './answers.ts';
import type { FuzzTeam } from './things.ts';

interface Planted {
  readonly status: number;
  readonly body: string | Buffer;
  /** A part of what is said about it; null: it is without fault. */
  readonly problem: string | null;
}

/** Answers to `GET /tables`. `other`: a team that does not ask. */
export function plantedAnswers(other: FuzzTeam): (Planted & { readonly answer: RawAnswer })[] {
  const error = (type: string): string => JSON.stringify({ error: { type, message: 'No.' } });
  const listed = (id: string, name: string): string => JSON.stringify({ data: [{ id, name }] });
  const unknownId = '01890000-0000-7000-8000-000000000000';
  const planted: Planted[] = [
    { status: 200, body: listed(unknownId, 'cars'), problem: null },
    { status: 500, body: error('internal_error'), problem: 'the status 500' },
    { status: 503, body: error('service_unavailable'), problem: 'the status 503' },
    { status: 409, body: error('upload_incomplete'), problem: 'does not have the status 409' },
    { status: 404, body: error('row_not_found'), problem: 'does not have such a body' },
    { status: 400, body: JSON.stringify({ message: 'No.' }), problem: 'does not have such a body' },
    { status: 200, body: JSON.stringify({ data: [{ id: unknownId }] }), problem: 'does not have such a body' },
    { status: 200, body: listed(unknownId, other.marker), problem: 'the secret' },
    { status: 200, body: listed(other.things.tables[0]!.id, 'cars'), problem: 'the ID' },
    { status: 200, body: Buffer.from(listed(unknownId, '\xe9'), 'latin1'), problem: 'encoded data' },
    { status: 200, body: '{"data":[', problem: 'JSON' },
  ];
  return planted.map((one) => {
    const headers = new Headers({ 'content-type': 'application/json; charset=utf-8' });
    return { ...one, answer: { status: one.status, headers, body: Buffer.from(one.body), isLast: false } };
  });
}

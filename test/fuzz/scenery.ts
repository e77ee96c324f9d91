/** Teams with tables, a stash, uploads and jobs, all of which contain a marker of the team. */
import type { Client } from '../support/client.ts';
import type { Team, Token } from '../support/api.ts';
import { upload, postUpload, picture } from '../support/uploads.ts';
import { Things, type FuzzTeam } from './things.ts';

/** The apps that requests name. */
export const apps = ['shop', 'store'] as const;

/** The names of stashes are common to all teams, which must not see each other's. */
export const stashNames = ['stash-a', 'stash-b', 'stash-c', 'stash-d'] as const;

/** `operator`: a token of an operator. */
export async function makeTeam(team: Team, marker: string, operator: Token): Promise<FuzzTeam> {
  const [readOnly, ofApp, dead] = await Promise.all([
    team.createToken({ readOnly: true }),
    team.createToken({ appId: apps[0] }),
    team.createToken({ expiresAt: 0 }),
  ]);
  const things = new Things();
  const { client } = team;
  for (const linked of [undefined, apps[0]]) await addTable(client, things, marker, linked);
  await addRest(client, things, marker);
  const tokens = {
    full: client.token,
    readOnly: readOnly.client.token,
    ofApp: ofApp.client.token,
    operator: operator.client.token,
    dead: dead.client.token,
  };
  return { marker, tokens, things };
}

async function addTable(client: Client, things: Things, marker: string, linked: string | undefined): Promise<void> {
  const rows = [0, 1, 2, 3].map((n) => ({ secret: `${marker} ${n}`, n, s: 'text' }));
  const made = expectOk(
    await client.post('/tables', {
      name: `${marker} table`,
      rows,
      ...(linked === undefined ? {} : { appsToLink: [linked] }),
    }),
  );
  const table = things.addTable(made.json.data.tableID, made.json.data.rowIDs);
  table.etags.push(made.headers.get('etag')!);
  const page = expectOk(await client.get(`/tables/${table.id}/rows?limit=1`));
  table.continuations.push(page.json.continuation);
}

async function addRest(client: Client, things: Things, marker: string): Promise<void> {
  expectOk(await client.put(`/stashes/${stashNames[0]}/1`, [{ secret: marker }]));
  things.stashes.push(stashNames[0]);
  const open = await postUpload(client, { ...picture, fileName: `${marker}.png` });
  things.uploads.push(knownUpload(open.id, open.location));
  const complete = await upload(client, marker);
  things.uploads.push(knownUpload(complete.id, complete.location));
  things.files.push(new URL(complete.url).pathname);
  const job = expectOk(
    await client.post(`/tables/${things.tables[0]!.id}/rows`, [{ secret: marker }], {
      'x-service-asynchronous': 'true',
    }),
  );
  if (job.json.data.jobID !== undefined) things.jobs.push(job.json.data.jobID);
}

function knownUpload(id: string, location: string) {
  const { pathname, search } = new URL(location);
  return { id, app: apps[0], location: pathname + search, contentType: picture.contentType };
}

function expectOk<T extends { readonly status: number; readonly text: string }>(answer: T): T {
  if (answer.status >= 300) throw new Error(answer.text);
  return answer;
}

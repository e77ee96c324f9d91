/** Creates, sends and completes uploads, as clients do. */
import { outcomeOf, type Answer, type Client } from './client.ts';

export interface CreatedUpload {
  readonly id: string;
  readonly location: string;
}

export const picture = { contentType: 'image/png', fileName: 'photo.png' };

/** Throws if the upload is not created. */
export async function postUpload(client: Client, body: object = picture, app = 'shop'): Promise<CreatedUpload> {
  const answer = await client.post(`/apps/${app}/uploads`, body);
  if (answer.status !== 200) throw new Error(answer.text);
  return { id: answer.json.data.uploadID, location: answer.json.data.uploadLocation };
}

/** Sends bytes to the upload's location, without a token. */
export async function sendBytes(
  { location }: Pick<CreatedUpload, 'location'>,
  bytes: Uint8Array | string | ReadableStream,
  headers: Readonly<Record<string, string>> = { 'content-type': picture.contentType },
): Promise<string> {
  const isStream = bytes instanceof ReadableStream;
  const response = await fetch(location, {
    method: 'PUT',
    body: bytes as string,
    headers,
    ...(isStream ? { duplex: 'half' } : {}),
  } as RequestInit);
  const text = await response.text();
  if (response.ok) return text === '' ? String(response.status) : `${response.status} with a body`;
  // An S3 has its own error formats.
  return response.headers.get('content-type')!.includes('json')
    ? `${response.status} ${JSON.parse(text).error.type}`
    : String(response.status);
}

export function complete(client: Client, { id }: Pick<CreatedUpload, 'id'>, app = 'shop'): Promise<Answer> {
  return client.send(`/apps/${app}/uploads/${id}/complete`, { method: 'POST' });
}

/** Withdraws the file of an upload, or gives the upload up. */
export function withdraw(
  client: Client,
  { id }: Pick<CreatedUpload, 'id'>,
  headers: Readonly<Record<string, string>> = {},
  app = 'shop',
): Promise<Answer> {
  return client.delete(`/apps/${app}/uploads/${id}`, headers);
}

/** Uploads these bytes; resolves to the upload and its public URL. Throws if a step fails. */
export async function upload(
  client: Client,
  bytes: Uint8Array | string,
  body: typeof picture = picture,
): Promise<CreatedUpload & { readonly url: string }> {
  const created = await postUpload(client, body);
  const sent = await sendBytes(created, bytes, { 'content-type': body.contentType });
  if (sent !== '200') throw new Error(sent);
  const answer = await complete(client, created);
  if (answer.status !== 200) throw new Error(`${outcomeOf(answer)} ${answer.text}`);
  return { ...created, url: answer.json.data.url };
}

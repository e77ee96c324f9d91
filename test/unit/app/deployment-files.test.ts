/** The files that deploy the service: what they run is pinned, and what is not for clients is apart. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readConfig } from '../../../src/app/config.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8');

interface ComposeFile {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string;
        readonly build?: { readonly args: { readonly NODE_IMAGE: string } };
        readonly environment: Readonly<Record<string, string | number>>;
        readonly ports?: readonly string[];
      }
    >
  >;
}

/** The value of a variable of Docker Compose that is not set. */
const presetOf = (text: string): string => /^\$\{\w+:-(.*)\}$/.exec(text)?.[1] ?? text;

const compose = async (): Promise<ComposeFile> =>
  parse(await read('docker-compose.yml'), { merge: true }) as ComposeFile;

const pinned = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/;

describe('images', () => {
  test('are pinned by digest, with a tag for readers', async () => {
    const images = Object.values((await compose()).services)
      .map(({ image }) => presetOf(image))
      .filter((image) => image !== 'tablog');
    expect(new Set(images).size).toBe(3);
    for (const image of images) expect(image).toMatch(pinned);
  });

  test('that the service is built on have the Node of the packages', async () => {
    const [, image] = /^ARG NODE_IMAGE=(.*)$/m.exec(await read('Dockerfile'))!;
    expect(image).toMatch(pinned);
    const { devDependencies, dependencies } = JSON.parse(await read('package.json')) as Readonly<
      Record<string, Readonly<Record<string, string>>>
    >;
    expect(image).toContain(`node:${dependencies!['node'] ?? devDependencies!['node']}-`);
    expect(presetOf((await compose()).services['api-1']!.build!.args.NODE_IMAGE)).toBe(image);
  });
});

test('the compose file has the metrics on a port that is not published', async () => {
  const { services } = await compose();
  for (const name of ['api-1', 'api-2', 'projector-1', 'projector-2']) {
    const { environment, ports = [] } = services[name]!;
    const given = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, presetOf(String(value))]));
    const { METRICS_PORT, PORT } = readConfig({ ...given, PUBLIC_URL: '' });
    expect(METRICS_PORT).toBe(9090);
    expect(ports.map((port) => Number(port.split(':').at(-1)))).toEqual(name.startsWith('api') ? [PORT] : []);
  }
});

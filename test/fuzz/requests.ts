/**
 * Requests for the operations of the OpenAPI document: with what the team has, with what others have, and with
 * nonsense.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenApiDocument, OperationObject, ParameterObject } from '../../src/api/http/openapi/document.ts';
import type { Random } from '../support/random.ts';
import { makeBody } from './bodies.ts';
import { hostileHeader, hostilePart, hostileText } from './hostile.ts';
import { apps, stashNames } from './scenery.ts';
import { pickFrom, type FuzzTeam, type KnownTable, type KnownUpload, type Things } from './things.ts';
import { delimitedQuery } from '../../src/api/http/requests/delimited-query.ts';

export interface FuzzRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  /** Without those that frame the body. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer | null;
  /** The operation that it is made for; null if it is for none. */
  readonly operationId: string | null;
  readonly rights: Rights;
}

/** What its token allows; `none`: it has no valid token. */
type Rights = 'all' | 'read' | 'app' | 'operator' | 'none';

interface Operation {
  readonly method: string;
  readonly template: string;
  readonly object: OperationObject;
}

const styleOfConsole = readdirSync(join(import.meta.dirname, '../../console/dist')).find((name) =>
  name.endsWith('.css'),
);

/**
 * A place in the tables, stashes, uploads and jobs of somebody: the parameters of a request name things that belong
 * together.
 */
interface Subject {
  readonly table: KnownTable | undefined;
  readonly upload: KnownUpload | undefined;
  readonly job: string | undefined;
  readonly file: string | undefined;
  readonly team: string | undefined;
  readonly token: string | undefined;
}

/**
 * How often an operation is asked for, relative to others: those that make and change things more often than those
 * about the service.
 */
const weights: Readonly<Record<string, number>> = {
  createTable: 10,
  overwriteTable: 12,
  updateTable: 8,
  addRows: 25,
  updateRow: 25,
  changeRows: 12,
  deleteRow: 8,
  listRows: 20,
  queryRows: 15,
  querySql: 8,
  exportTable: 6,
  getRow: 10,
  putChunk: 15,
  deleteStash: 3,
  createUpload: 6,
  putUploadBytes: 8,
  completeUpload: 8,
  getFile: 6,
  getJob: 5,
  getJobProgress: 5,
  getTable: 6,
  getTableHead: 4,
  getRowsVersion: 4,
  getFileHead: 4,
  deleteTable: 3,
  createTeam: 5,
  createTeamToken: 4,
  createOperatorToken: 4,
  revokeToken: 4,
};

const otherWeight = 2;

/** A connection deletes its oldest table when it has more than this. */
const tablesMax = 12;
/** Keys that are used again and again, by all teams. */
const commonKeys = Array.from({ length: 20 }, (_, at) => `key-${at}`);

export class RequestMaker {
  readonly #random: Random;
  readonly #document: OpenApiDocument;
  readonly #operations: readonly (readonly [weight: number, operation: Operation])[];
  readonly #team: FuzzTeam;
  readonly #others: readonly FuzzTeam[];
  readonly #mine: Things;

  /** `mine`: what this connection has made. `others`: the teams whose things are named without right. */
  constructor(
    random: Random,
    document: OpenApiDocument,
    { team, others, mine }: { team: FuzzTeam; others: readonly FuzzTeam[]; mine: Things },
  ) {
    this.#random = random;
    this.#document = document;
    this.#team = team;
    this.#others = others;
    this.#mine = mine;
    this.#operations = Object.entries(document.paths).flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, object]) => {
        return [
          weights[object.operationId] ?? otherWeight,
          { method: method.toUpperCase(), template, object },
        ] as const;
      }),
    );
  }

  make(): FuzzRequest {
    const random = this.#random;
    if (this.#mine.tables.length > tablesMax) return this.#deleteOldest();
    if (random.chance(0.03)) return this.#unknown();
    const operation = random.weighted(this.#operations);
    return this.#requestFor(operation, random.chance(0.35));
  }

  /** A request for this operation that nothing is wrong with, if the connection has the things that it names. */
  makeValid(operationId: string): FuzzRequest {
    const [, operation] = this.#operations.find(([, { object }]) => object.operationId === operationId)!;
    return this.#requestFor(operation, false);
  }

  #requestFor({ method, template, object }: Operation, isHostile: boolean): FuzzRequest {
    const random = this.#random;
    const subject = this.#subjectOf(isHostile);
    const isForOperators = object.security?.some((scheme) => 'operator' in scheme) === true;
    const authorization = this.#authorization(isHostile, isForOperators);
    const rowIds = subject.table?.rowIds ?? [];
    const body =
      object.requestBody === undefined
        ? null
        : makeBody(object, isHostile && random.chance(0.6), {
            random,
            document: this.#document,
            marker: this.#team.marker,
            rowIds,
          });
    const target = this.#targetOf(template, object, subject, isHostile);
    // The signature of an upload is for one media type.
    const bodyHeaders =
      object.operationId === 'putUploadBytes' && !isHostile
        ? ([['content-type', subject.upload?.contentType ?? 'image/png']] as const)
        : (body?.headers ?? []);
    return {
      method,
      target,
      operationId: object.operationId,
      rights: authorization.rights,
      headers: this.#disturb(
        [
          ...authorization.headers,
          ...this.#headersOf(object, this.#strayFrom(subject, isHostile), isHostile),
          ...bodyHeaders,
        ],
        isHostile,
      ),
      body: body?.bytes ?? (isHostile && random.chance(0.05) ? Buffer.from('{}') : null),
    };
  }

  #deleteOldest(): FuzzRequest {
    const { id } = this.#mine.tables[0]!;
    return {
      method: 'DELETE',
      target: `/tables/${id}`,
      operationId: 'deleteTable',
      rights: 'all',
      body: null,
      headers: this.#bearer(this.#team.tokens.full),
    };
  }

  /** A method or path that the document does not have. */
  #unknown(): FuzzRequest {
    const random = this.#random;
    const { template, method } = random.weighted(this.#operations);
    const path = template.replaceAll(/\{\w+\}/g, () => hostilePart(random));
    const authorization = this.#authorization(true, random.chance(0.1));
    return {
      method: random.chance(0.5)
        ? method
        : random.pick([
            'PUT',
            'DELETE',
            'OPTIONS',
            'TRACE',
            'PROPFIND',
            'QUERY',
            'LINK',
            'MKCOL',
            'SEARCH',
            'PATCH',
            'POST',
            'HEAD',
            'GET',
          ]),
      target: random.chance(0.5)
        ? path
        : random.pick([
            `${path}/`,
            `/${path}`,
            `${path}/x`,
            '/',
            '*',
            '//',
            '/tables//rows',
            '/TABLES',
            '/%74ables',
            '/tables%2F',
            `${path}?${hostilePart(random)}`,
            `${path}#x`,
            '/..',
            '/docs/../tables',
            `http://other.example${path}`,
            '/favicon.ico',
            '/.env',
            '/tables?',
            '/tables;x',
            `/tables/${hostilePart(random)}/rows/${hostilePart(random)}/${hostilePart(random)}`,
          ]),
      headers: authorization.headers,
      body: random.chance(0.3) ? Buffer.from('[]') : null,
      operationId: null,
      rights: authorization.rights,
    };
  }

  /**
   * Mostly a thing that this connection made. Sometimes an older one of its team, a deleted one, or one of another
   * team.
   */
  #subjectOf(isHostile: boolean): Subject {
    const random = this.#random;
    const things =
      isHostile && random.chance(0.25)
        ? random.pick(this.#others).things
        : random.chance(0.15)
          ? this.#team.things
          : this.#mine;
    const tables = random.chance(isHostile ? 0.15 : 0.02) ? this.#mine.deletedTables : things.tables;
    return {
      table: pickFrom(random, tables),
      upload: pickFrom(random, things.uploads.slice(-5)),
      job: pickFrom(random, things.jobs),
      file: pickFrom(random, things.files),
      team: pickFrom(random, this.#mine.madeTeams),
      token: pickFrom(random, this.#mine.madeTokens),
    };
  }

  /** Now and then something else than the other parameters name, such as a row of another table or team. */
  #strayFrom(subject: Subject, isHostile: boolean): Subject {
    return isHostile && this.#random.chance(0.15) ? this.#subjectOf(true) : subject;
  }

  #targetOf(
    template: string,
    { parameters, operationId }: OperationObject,
    subject: Subject,
    isHostile: boolean,
  ): string {
    const random = this.#random;
    if (operationId === 'putUploadBytes' && subject.upload !== undefined && !(isHostile && random.chance(0.5)))
      return subject.upload.location;
    if (operationId.startsWith('getFile') && subject.file !== undefined && !(isHostile && random.chance(0.3)))
      return subject.file;
    const here = (): Subject => this.#strayFrom(subject, isHostile);
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      return isHostile && random.chance(0.15)
        ? hostilePart(random)
        : encodeURIComponent(this.#pathPart(name, here()) ?? 'none');
    });
    const query = parameters
      .filter((parameter) => parameter.in === 'query')
      .flatMap((parameter) => {
        if (!parameter.required && !random.chance(chanceOf(parameter.name))) return [];
        const value =
          isHostile && random.chance(0.3)
            ? hostilePart(random)
            : encodeURIComponent(this.#queryValue(parameter, here()));
        const pair = `${parameter.name}=${value}`;
        return isHostile && random.chance(0.1) ? [pair, pair] : [pair];
      });
    if (isHostile && random.chance(0.05)) query.push(hostilePart(random));
    return query.length === 0 ? path : `${path}?${query.join('&')}`;
  }

  #pathPart(name: string, { table, upload, job, file, team, token }: Subject): string | undefined {
    const random = this.#random;
    switch (name) {
      case 'tableID':
        return table?.id;
      case 'rowID':
        return pickFrom(random, table?.rowIds ?? []);
      case 'jobID':
        return job;
      case 'teamID':
        return team;
      case 'tokenID':
        return token;
      case 'uploadID':
        return upload?.id;
      case 'appID':
        return upload?.app ?? random.pick(apps);
      case 'stashID':
        return random.pick(stashNames);
      case 'serial':
        return String(random.below(8));
      case 'fileID':
        return file?.split('/')[2];
      case 'file':
        return 'swagger-ui.css';
      case 'consoleFile':
        return styleOfConsole;
      default:
        return undefined;
    }
  }

  #queryValue({ name, schema }: ParameterObject, { table }: Subject): string {
    const random = this.#random;
    if (name === 'name') return `${this.#team.marker} table`;
    if (name === 'appsToLink') return random.pick(apps);
    if (name === 'limit') return random.pick(['1', '2', '10', '10000', '99999999999']);
    if (name === 'continuation') return pickFrom(random, table?.continuations ?? []) ?? 'none';
    if (name === 'filter')
      return random.pick([
        '{"column":"n","op":"gte","value":0}',
        '{"column":"secret","op":"contains","value":"1"}',
        '{"not":{"column":"s","op":"isEmpty"}}',
        '{"or":[]}',
      ]);
    if (name === 'sort') return random.pick(['n', '-secret', 'secret,-n', '$rowID']);
    if (name === 'fields') return random.pick(['n', 'secret,n', '$version', '["secret"]']);
    if (name === 'columns' || name === 'types')
      return random.pick(['{"n":"m"}', '{"n":"string"}', '{"n":["number"]}', '{}', '[]']);
    if (name in delimitedQuery)
      return random.pick(['absent', 'rename', ';', 'none', '\\', 'true', '1', '#', 'NA,-', ',', 'd.m.y']);
    const values = (schema as { enum?: string[] }).enum;
    return values === undefined ? 'x' : random.pick(values);
  }

  #headersOf(
    { parameters }: OperationObject,
    { table, file }: Subject,
    isHostile: boolean,
  ): (readonly [string, string])[] {
    const random = this.#random;
    return parameters
      .filter((parameter) => parameter.in === 'header' && parameter.name !== 'Content-Encoding')
      .flatMap(({ name, schema }) => {
        if (!random.chance(0.25)) return [];
        if (isHostile && random.chance(0.3)) return [[name, hostileHeader(random)] as const];
        const value =
          {
            'If-Match': table?.etags.at(-1),
            'If-None-Match': table?.etags.at(-1) ?? file?.split('/')[2],
            'Idempotency-Key': random.chance(0.3) ? random.pick(commonKeys) : random.uuid(),
            'x-service-asynchronous': random.pick(['true', 'false']),
            'Range': random.pick(['bytes=0-0', 'bytes=5-', 'bytes=-3', 'bytes=1000000-']),
            'If-Range': `"${file?.split('/')[2]}"`,
          }[name] ?? (schema as { example?: string }).example;
        return value === undefined ? [] : [[name, value] as const];
      });
  }

  /** Mostly a token that is good for the operation: of an operator, or of the team. */
  #authorization(
    isHostile: boolean,
    isForOperators: boolean,
  ): { headers: (readonly [string, string])[]; rights: Rights } {
    const { full, readOnly, ofApp, operator, dead } = this.#team.tokens;
    const random = this.#random;
    const valid = (token: string, rights: Rights) => ({ headers: this.#bearer(token), rights });
    const invalid = (...values: string[]) => ({
      headers: values.map((value) => ['authorization', value] as const),
      rights: 'none' as const,
    });
    const good = () => (isForOperators ? valid(operator, 'operator') : valid(full, 'all'));
    if (!isHostile) return good();
    return random.weighted([
      [66, good],
      [4, () => (isForOperators ? valid(full, 'all') : valid(operator, 'operator'))],
      [8, () => valid(readOnly, 'read')],
      [8, () => valid(ofApp, 'app')],
      [4, () => invalid(`Bearer ${dead}`)],
      [3, () => invalid()],
      [2, () => invalid(`Bearer ${full}x`)],
      [1, () => invalid(`Basic ${full}`)],
      [1, () => invalid(`Bearer ${full}`, `Bearer ${full}`)],
      [1, () => invalid(hostileHeader(random))],
    ])();
  }

  #bearer(token: string): (readonly [string, string])[] {
    return [['authorization', `Bearer ${token}`]];
  }

  /** Adds headers that have no meaning here, repeats one, or asks for a compressed answer. */
  #disturb(headers: (readonly [string, string])[], isHostile: boolean): (readonly [string, string])[] {
    const random = this.#random;
    if (random.chance(0.2))
      headers.push(['accept-encoding', random.pick(['gzip', 'br', 'zstd', 'gzip, br;q=0.5', 'identity;q=0, *', '*'])]);
    if (random.chance(0.15))
      headers.push([
        'accept',
        random.pick([
          'text/csv',
          'text/csv',
          'text/csv, */*;q=0.1',
          'application/json',
          '*/*',
          'text/html',
          'text/html,image/avif,*/*;q=0.8',
        ]),
      ]);
    if (!isHostile || !random.chance(0.2)) return headers;
    const added = random.pick<() => readonly [string, string]>([
      () =>
        random.pick(
          headers.length === 0
            ? [['x', 'y'] as const]
            : headers.filter(([name]) => name !== 'authorization').concat([['x', 'y']]),
        ),
      () => ['x-http-method-override', 'DELETE'],
      () => ['cookie', hostileHeader(random)],
      () => ['accept', hostileHeader(random)],
      () => ['x-forwarded-for', '::1'],
      () => ['if-modified-since', 'never'],
      () => ['expect', random.pick(['100-continue', '200-ok'])],
      () => ['upgrade', 'h2c'],
      () => ['connection', random.pick(['close', 'upgrade', 'x'])],
      () => [
        `x-${hostileText(random)
          .replaceAll(/[^a-z]/g, '')
          .slice(0, 100)}`,
        hostileHeader(random),
      ],
      () => ['origin', 'null'],
      () => ['te', 'trailers'],
    ])();
    return [...headers, added];
  }
}

/**
 * How often a parameter is in a request that need not have it. The forms of CSV are refused beside any other body, so
 * they are rare.
 */
function chanceOf(name: string): number {
  if (name in delimitedQuery) return 0.03;
  return name === 'name' || name === 'onSchemaError' ? 0.7 : 0.3;
}

/** Bodies of requests, made from the schemas of the OpenAPI document, and bodies that do not fit them. */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { OpenApiDocument, OperationObject } from '../../src/api/http/openapi/document.ts';
import type { Random } from '../support/random.ts';
import { corrupt, hostileJson, hostileNumber, hostileText } from './hostile.ts';
import { apps, stashNames } from './scenery.ts';

export interface Body {
  readonly bytes: Buffer;
  readonly headers: readonly (readonly [string, string])[];
}

/** What bodies are made of, besides the schema. */
interface Ingredients {
  readonly random: Random;
  readonly document: OpenApiDocument;
  /** The secret text of the team: it is in most rows and names. */
  readonly marker: string;
  /** IDs of rows of the table. */
  readonly rowIds: readonly string[];
}

/** The parts of JSON Schema that the document uses for bodies. */
interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly type?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

/** A body for this operation. `isHostile`: one that is likely to be refused. */
export function makeBody({ requestBody }: OperationObject, isHostile: boolean, ingredients: Ingredients): Body {
  const { random } = ingredients;
  const mediaType = random.pick(Object.keys(requestBody!.content));
  const { schema } = requestBody!.content[mediaType]!;
  const text =
    mediaType === 'application/json'
      ? JSON.stringify(sample(schema as Schema, ingredients))
      : isLines(mediaType)
        ? linesOf(ingredients)
        : textOf(mediaType, ingredients);
  const bytes = Buffer.from(text);
  const made = isHostile ? hostileBytes(bytes, random) : bytes;
  const type = isHostile && random.chance(0.15) ? hostileType(random) : mediaType;
  return encoded({ bytes: made, headers: [['content-type', type]] }, isHostile, random);
}

/** A value that fits a schema. The names of properties decide what a value is about. */
function sample(schema: Schema, ingredients: Ingredients, name = ''): unknown {
  const { random, document } = ingredients;
  const { $ref, anyOf, oneOf, type, properties = {}, required = [], items } = schema;
  if ($ref === '#/components/schemas/InputRow') return sampleRow(ingredients);
  if ($ref === '#/components/schemas/Condition') return sampleCondition(ingredients, 3);
  if ($ref !== undefined)
    return sample(document.components.schemas[$ref.split('/').at(-1)!] as Schema, ingredients, name);
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return sample(random.pick(choices), ingredients, name);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return random.pick(schema.enum);
  switch (type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([key]) => required.includes(key) || random.chance(key === 'continuation' ? 0.05 : 0.4))
          .map(([key, property]) => [key, sample(property, ingredients, key)]),
      );
    case 'array':
      return Array.from({ length: lengthOf(name, random) }, () =>
        sample(items!, ingredients, name === 'appsToLink' ? 'app' : name),
      );
    case 'string':
      return sampleText(name, ingredients);
    case 'integer':
    case 'number':
      return random.below(100);
    case 'boolean':
      return random.chance(0.5);
    case 'null':
      return null;
    default:
      return random.pick([null, 1, 'x']);
  }
}

/** Few columns and apps; now and then enough rows for several blocks. */
function lengthOf(name: string, random: Random): number {
  if (name === 'columns' || name === 'appsToLink') return random.below(4);
  if (name === 'operations') return 1 + random.below(4);
  return random.chance(0.003) ? 3000 : random.below(5);
}

function sampleText(name: string, { random, marker, rowIds }: Ingredients): string {
  switch (name) {
    case 'rowID':
      return rowIds.length > 0 ? random.pick(rowIds) : 'AAAAAAAAAAEAAAAAAAAAAA';
    case 'ifMatch':
      return random.pick(['1', String(Number.MAX_SAFE_INTEGER)]);
    case 'id':
      return random.pick(columns);
    case 'column':
    case 'fields':
    case 'groupBy':
      return random.pick(columns);
    case 'sort':
      return random.pick(['n', '-secret', 'secret', '-n']);
    case 'sql':
      return random.pick(statements);
    case 'expires':
      return random.pick(['2999-01-31T00:00:00Z', '2999-01-31T02:00:00+02:00']);
    case 'app':
      return random.pick(apps);
    case '$stashID':
      return random.pick(stashNames);
    case 'contentType':
      return random.pick(['image/png', 'text/plain', 'text/html; charset=utf-8', 'application/octet-stream']);
    case 'fileName':
      return `${marker}${random.pick(['.png', ' ü.txt', '\u{1f600}', '"\';%.html', '\u202egnp.exe'])}`;
    default:
      return `${marker} ${name}`;
  }
}

/** Tables have some of these columns, so that most rows fit most tables. */
const columns = ['secret', 'n', 's', 'day', 'tags', 'any'] as const;

function sampleRow({ random, marker, rowIds }: Ingredients): Record<string, unknown> {
  const row: Record<string, unknown> = { secret: `${marker} ${random.below(1000)}` };
  if (random.chance(0.6)) row['n'] = random.pick([0, 1, -1.5, 1e21, 5e-324, Number.MAX_SAFE_INTEGER]);
  if (random.chance(0.5)) row['s'] = random.pick(['text', '', '\u{1f600}', '\u05d0', '1', 'a@b.c', 'x'.repeat(500)]);
  if (random.chance(0.2)) row['day'] = random.pick(['2024-02-29', '1999-12-31', null]);
  if (random.chance(0.1)) row['tags'] = random.pick([['a', 'b'], []]);
  if (random.chance(0.08)) row['any'] = random.pick([true, { a: [1, { b: null }] }, 1, 'x', ['x']]);
  if (random.chance(0.05)) row['$rowID'] = rowIds.length > 0 ? random.pick(rowIds) : 'AAAAAAAAAAEAAAAAAAAAAA';
  if (random.chance(0.04)) row[hostileText(random)] = hostileText(random);
  if (random.chance(0.04)) row[random.pick(columns)] = hostileText(random);
  return row;
}

/** SQL that is possible, and some that tries to see what it must not. */
const statements = [
  'SELECT 1 AS one',
  'SELECT $1',
  'SELECT i, i * 2 AS twice FROM range(10) t(i)',
  'WITH n AS (SELECT 1 AS i) SELECT * FROM n',
  "SELECT '\u{1f600}' AS face, [1, 2] AS list, {'a': 1} AS struct",
  'SELECT * FROM duckdb_tables',
  'SELECT * FROM information_schema.tables',
  'SELECT * FROM copy1.rows',
  "SELECT * FROM read_text('/etc/passwd')",
  'SELECT; DROP',
  'SELECT secret FROM things',
  '\0',
  'SELECT "x""; SELECT * FROM copy1.rows --".* FROM copy1.rows',
  'SELECT "a" AS "b"" FROM copy1.rows --" FROM (SELECT 1 AS a)',
] as const;

/** A filter that mostly has a meaning. `depth`: how deep it may be nested. */
function sampleCondition(ingredients: Ingredients, depth: number): unknown {
  const { random, rowIds } = ingredients;
  const nested = (): unknown => sampleCondition(ingredients, depth - 1);
  if (depth > 0 && random.chance(0.4)) {
    const parts = (): unknown[] => Array.from({ length: random.below(4) }, nested);
    return random.pick([() => ({ and: parts() }), () => ({ or: parts() }), () => ({ not: nested() })])();
  }
  return random.pick<() => unknown>([
    () => ({
      column: 'secret',
      op: random.pick(['eq', 'ne', 'lt', 'gte', 'contains', 'startsWith', 'endsWith']),
      value: random.pick(['1', '', hostileText(random)]),
    }),
    () => ({
      column: 'n',
      op: random.pick(['eq', 'lt', 'lte', 'gt', 'in']),
      value: random.pick([0, -1.5, 1e308, [1, 2]]),
    }),
    () => ({ column: random.pick(columns), op: random.pick(['isEmpty', 'isNotEmpty']) }),
    () => ({ column: 'tags', op: 'has', value: 'a' }),
    () => ({ column: '$rowID', op: 'in', value: rowIds.slice(0, 3) }),
    () => ({
      column: hostileText(random),
      op: random.pick(['eq', 'near']),
      value: hostileText(random),
      ignoreCase: random.chance(0.5),
    }),
  ])();
}

function isLines(mediaType: string): boolean {
  return ['application/x-ndjson', 'application/ndjson', 'application/jsonl'].includes(mediaType);
}

/** NDJSON. */
function linesOf(ingredients: Ingredients): string {
  return Array.from({ length: 1 + lengthOf('rows', ingredients.random) }, () =>
    JSON.stringify(sampleRow(ingredients)),
  ).join(ingredients.random.pick(['\n', '\r\n']));
}

/** CSV or TSV, or the bytes of a file. */
function textOf(mediaType: string, { random, marker, rowIds }: Ingredients): string {
  if (mediaType === '*/*') return `${marker} ${'bytes '.repeat(random.below(50))}`;
  const separator = mediaType === 'text/csv' ? ',' : '\t';
  const quote = (cell: string): string => (/["\r\n,\t]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const names: string[] = [
    ...columns.slice(0, 1 + random.below(3)),
    ...(random.chance(0.1) && rowIds.length > 0 ? ['$rowID'] : []),
  ];
  const cellOf = (name: string): string => {
    if (name === '$rowID') return random.pick(rowIds);
    if (name === 'n') return String(random.below(100));
    return random.chance(0.05) ? hostileText(random).slice(0, 3000) : marker;
  };
  const lines = Array.from({ length: random.below(5) }, () => names.map((name) => quote(cellOf(name))));
  return [names, ...lines].map((cells) => cells.join(separator)).join(random.pick(['\n', '\r\n']));
}

function hostileBytes(bytes: Buffer, random: Random): Buffer {
  return random.weighted<() => Buffer>([
    [30, () => Buffer.from(hostileJson(random))],
    [30, () => Buffer.from(replaceValue(bytes.toString(), random))],
    [25, () => corrupt(bytes, random)],
    [5, () => Buffer.from([0xff, 0xfe, 0x5b, 0, 0x5d, 0])],
    [5, () => Buffer.concat([Buffer.from('["'), Buffer.from([0xc3, 0x28, 0xed, 0xa0, 0x80]), Buffer.from('"]')])],
    [5, () => Buffer.alloc(0)],
  ])();
}

/** Replaces a value or a key in a JSON text by something hostile, or repeats a member. */
function replaceValue(text: string, random: Random): string {
  const places = [...text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*|true|false|null|[[{]/g)];
  const place = places[random.below(Math.max(1, places.length))];
  if (place === undefined) return hostileJson(random);
  const [before, after] = [text.slice(0, place.index), text.slice(place.index + place[0].length)];
  if (place[0] === '{' || place[0] === '[') {
    const added =
      place[0] === '{'
        ? `"${random.pick(['secret', 'n', 'x', 'rows', '$stashID', '__proto__'])}":${hostileJson(random)},`
        : `${hostileJson(random)},`;
    return `${before}${place[0]}${added}${after}`;
  }
  return `${before}${random.chance(0.3) ? hostileNumber(random) : hostileJson(random)}${after}`;
}

function hostileType(random: Random): string {
  return random.pick([
    '',
    'json',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'text/plain',
    'multipart/form-data; boundary=x',
    'text/csv; header=absent',
    'application/x-ndjson',
    'application/x-www-form-urlencoded',
    'application/json, text/csv',
    '*/*',
    'text/csv;;',
    'application/vnd.api+json',
    '\xe9/\xe9',
    `application/json; a="${'b'.repeat(500)}"`,
  ]);
}

const encoders = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync } as const;

/** Bodies that are small as they come and large when they are decompressed: the last is larger than any body may be. */
const bombs = [2, 20].map((megabytes) => gzipSync(Buffer.alloc(megabytes * 1_000_000, ' ')));

function encoded(body: Body, isHostile: boolean, random: Random): Body {
  if (!random.chance(isHostile ? 0.12 : 0.08)) return body;
  const encoding = random.pick(Object.keys(encoders) as (keyof typeof encoders)[]);
  const under = (bytes: Buffer, name: string = encoding): Body => ({
    bytes,
    headers: [...body.headers, ['content-encoding', name]],
  });
  const compressed = encoders[encoding](body.bytes);
  if (!isHostile) return under(compressed);
  return random.weighted<() => Body>([
    [10, () => under(body.bytes)],
    [10, () => under(corrupt(compressed, random))],
    [4, () => under(Buffer.concat([compressed, compressed]))],
    [4, () => under(compressed, random.pick(['gzip, gzip', 'deflate', 'identity', 'GZIP', '', 'br,gzip']))],
    [2, () => under(random.pick(bombs), 'gzip')],
  ])();
}

/** What OpenAPI 3.1 demands of a document: the fields that each of its objects must and may have, and where they lead. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** The fields of an object: a `!` stands after those that are required; the kind of the value, if that is looked at. */
type Fields = Readonly<Record<string, string | null>>;

const ofMedia = { 'example': null, 'examples': 'map of example', 'schema!': 'schema' };

const kinds: Readonly<Record<string, Fields>> = {
  'document': {
    'openapi!': null, 'info!': 'info', 'servers': 'list of server', 'paths!': 'map of path', 'components': 'components',
    'security': null, 'tags': 'list of tag', 'externalDocs': null, 'webhooks': null, 'jsonSchemaDialect': null,
  },
  'info': { 'title!': null, 'version!': null, 'summary': null, 'description': null, 'license': null, 'contact': null, 'termsOfService': null },
  'server': { 'url!': null, 'description': null, 'variables': null },
  'tag': { 'name!': null, 'description': null, 'externalDocs': null },
  'path': Object.fromEntries(
    ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'].map((method) => [method, 'operation'] as const),
  ),
  'operation': {
    'operationId': null, 'tags': null, 'summary': null, 'description': null, 'parameters': 'list of parameter',
    'requestBody': 'request body', 'responses!': 'map of response', 'security': null, 'deprecated': null, 'servers': null,
    'callbacks': null, 'externalDocs': null,
  },
  'parameter': {
    'name!': null, 'in!': null, 'required': null, 'description': null, 'deprecated': null, 'style': null, 'explode': null, ...ofMedia,
  },
  'request body': { 'content!': 'map of media type', 'description': null, 'required': null },
  'response': { 'description!': null, 'headers': 'map of header', 'content': 'map of media type', 'links': null },
  'header': { 'description': null, 'required': null, 'deprecated': null, ...ofMedia },
  'media type': { ...ofMedia, 'encoding': null },
  'example': { 'value!': null, 'summary': null, 'description': null },
  'components': {
    'schemas': 'map of schema', 'responses': 'map of response', 'headers': 'map of header',
    'securitySchemes': 'map of security scheme', 'parameters': 'map of parameter', 'examples': 'map of example',
  },
  'security scheme': { 'type!': null, 'scheme!': null, 'description': null, 'bearerFormat': null },
};

/** What is wrong with the document by the specification of OpenAPI 3.1, and where; nothing if it is valid. */
export function openApiProblems(document: object): string[] {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: true });
  formats.default(ajv);
  return problemsOf('document', document, '', { document, ajv });
}

interface Context {
  readonly document: object;
  readonly ajv: Ajv2020;
}

function problemsOf(kind: string, value: unknown, place: string, context: Context): string[] {
  const [, collection, item] = /^(map|list) of (.*)$/.exec(kind) ?? [];
  const isComponents = /^\/components\/\w+$/.test(place);
  if (collection === 'list' && !Array.isArray(value)) return [`${place} is no list`];
  if (typeof value !== 'object' || value === null) return [`${place} is no object`];
  if (item !== undefined) {
    return Object.entries(value).flatMap(([key, member]) => [
      ...(isComponents && !/^[a-zA-Z0-9._-]+$/.test(key) ? [`${place} has the key ${key}`] : []),
      ...problemsOf(item, member, `${place}/${key}`, context),
    ]);
  }
  if ('$ref' in value && kind !== 'schema') return problemsOfReference(kind, value, place, context);
  if (kind === 'schema') return problemsOfSchema(value, place, context);
  return problemsOfFields(kinds[kind]!, value as Record<string, unknown>, place, context);
}

function problemsOfFields(fields: Fields, value: Record<string, unknown>, place: string, context: Context): string[] {
  const known = new Map(Object.entries(fields).map(([name, kind]) => [name.replace('!', ''), kind]));
  const missing = Object.keys(fields).filter((name) => name.endsWith('!') && !(name.slice(0, -1) in value));
  return [
    ...missing.map((name) => `${place} lacks ${name.slice(0, -1)}`),
    ...('example' in value && 'examples' in value ? [`${place} has both example and examples`] : []),
    ...(value['in'] === 'path' && value['required'] !== true ? [`${place} is in the path and not required`] : []),
    ...Object.entries(value).flatMap(([name, member]) => {
      const kind = known.get(name);
      if (kind === undefined) return [`${place} has ${name}`];
      return kind === null ? [] : problemsOf(kind, member, `${place}/${name}`, context);
    }),
  ];
}

/** A reference leads to an object of the same kind, which is looked at where it stands. */
function problemsOfReference(kind: string, value: object, place: string, { document }: Context): string[] {
  const { $ref } = value as { readonly $ref: string };
  const folder = `#/components/${kind}s/`;
  if (!$ref.startsWith(folder)) return [`${place} refers to ${$ref}`];
  return resolve(document, $ref) === undefined ? [`${place} refers to ${$ref}, which is not there`] : [];
}

function problemsOfSchema(schema: object, place: string, { document, ajv }: Context): string[] {
  const references = [...JSON.stringify(schema).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference!);
  const lost = references.filter((reference) => {
    return !reference.startsWith('#/components/schemas/') || resolve(document, reference) === undefined;
  });
  return [
    ...lost.map((reference) => `${place} refers to ${reference}, which is not there`),
    ...(ajv.validateSchema(schema) === true ? [] : [`${place} is no JSON Schema: ${ajv.errorsText()}`]),
  ];
}

function resolve(document: object, reference: string): unknown {
  const keys = reference.slice('#/'.length).split('/');
  return keys.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document);
}

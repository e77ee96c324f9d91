import { z } from 'zod';

export type JsonSchema = Readonly<z.core.JSONSchema.BaseSchema>;

/**
 * Converts zod schemas to JSON Schemas. A schema with an `id` in its metadata is emitted once, under `components`, and
 * referenced. A `jsonSchema` in the metadata replaces the schema: for query parameters whose text stands for another
 * type.
 */
export class DocumentSchemas {
  readonly components: Record<string, JsonSchema> = {};

  /** `io`: `input` if a client sends the value, `output` if it receives it. */
  convert(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const { $schema: _, $defs = {}, ...converted } = z.toJSONSchema(schema, { io, override: useGivenSchema });
    for (const [id, definition] of Object.entries($defs)) this.#addComponent(id, referToComponents(definition));
    return referToComponents(converted);
  }

  #addComponent(id: string, schema: JsonSchema): void {
    const known = this.components[id];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`there are two different schemas with the ID ${id}`);
    }
    this.components[id] = schema;
  }
}

function useGivenSchema({
  zodSchema,
  jsonSchema,
}: {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}): void {
  const given = z.globalRegistry.get(zodSchema)?.['jsonSchema'] as JsonSchema | undefined;
  if (given === undefined) return;
  const { description } = jsonSchema;
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  Object.assign(jsonSchema, { description }, given);
}

function referToComponents(schema: object): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) => {
    return key === '$ref' ? String(value).replace('#/$defs/', '#/components/schemas/') : value;
  }) as JsonSchema;
}

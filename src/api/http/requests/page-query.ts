/** The query parameters of a page: `limit` and `continuation`. */
import { z } from 'zod';

/**
 * Default and maximum of a page (decisions 3). Clients that send no limit expect all items, so the default is large. A
 * larger limit counts as this one.
 */
export const pageItemsMax = 10_000;

/** `items`: a word for the items of the page, for the description. `itemsMax`: how many the page may have. */
export function pageQuery(items: string, itemsMax = pageItemsMax) {
  return z.strictObject({
    limit: z
      .string()
      .regex(/^[0-9]+$/, 'must be a whole number')
      .transform((text) => Math.min(Number(text), itemsMax))
      .pipe(z.number().min(1, 'must be at least 1'))
      .default(itemsMax)
      .meta({
        description: `How many ${items} the page may have at most. More than ${itemsMax} counts as ${itemsMax}.`,
        jsonSchema: { type: 'integer', minimum: 1, default: itemsMax },
      }),
    // Forms that cannot leave the parameter out send an empty one.
    continuation: z
      .string()
      .transform((text) => (text === '' ? undefined : text))
      .optional()
      .meta({
        description: 'The `continuation` of the page before. An empty one counts as absent.',
        jsonSchema: { type: 'string' },
      }),
  });
}

/** The query parameters of a page: `limit` and `continuation`. */
import { z } from 'zod';

/** Decisions 3: a page without a limit must not drop anything that clients expect, and a larger limit counts as this one. */
export const pageItemsMax = 10_000;

/** `items`: what the page consists of, for the description. */
export function pageQuery(items: string) {
  return z.strictObject({
    limit: z.string()
      .regex(/^[0-9]+$/, 'must be a whole number')
      .transform((text) => Math.min(Number(text), pageItemsMax))
      .pipe(z.number().min(1, 'must be at least 1'))
      .default(pageItemsMax)
      .meta({
        description: `How many ${items} the page may have at most. More than ${pageItemsMax} counts as ${pageItemsMax}.`,
        jsonSchema: { type: 'integer', minimum: 1, default: pageItemsMax },
      }),
    continuation: z.string().optional().meta({ description: 'The `continuation` of the page before.' }),
  });
}

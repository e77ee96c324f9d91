/**
 * Import this before the service (`node --import`). For the database the service then is an earlier version: it uses a
 * read model of the same shape, under an earlier number.
 */
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith('/projections/models.ts')) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString();
    return { ...loaded, source: source.replace(/(?<='tablog_)\d+(?=')/, (number) => String(Number(number) - 1)) };
  },
});

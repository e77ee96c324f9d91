/**
 * To be imported before the service (`node --import`), which then is one of an earlier version as far as the database
 * knows: it uses a read model of the same shape, under an earlier number.
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

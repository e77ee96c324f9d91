import type { ExportFormat, RowsQuery, Table } from '../../../clients/typescript/src/index.ts';

/** Only Chromium has this. Other browsers hold the file in memory before they save it. */
type SaveFile = (options: {
  readonly suggestedName: string;
}) => Promise<{ createWritable(): Promise<WritableStream<Uint8Array>> }>;

/** Saves a table, or a view of it, as a file. Throws AbortError if the person cancels. */
export async function saveExport(
  table: Table,
  name: string,
  format: ExportFormat,
  view: RowsQuery<object>,
): Promise<void> {
  const safeName = name.replaceAll(/[/\\?%*:|"<>\p{Cc}]/gu, '_');
  const { showSaveFilePicker } = window as { readonly showSaveFilePicker?: SaveFile };
  if (showSaveFilePicker !== undefined) {
    const file = await showSaveFilePicker.call(window, { suggestedName: safeName });
    const { data } = await table.export(format, view as RowsQuery<never>);
    await data.pipeTo(await file.createWritable());
    return;
  }
  const { data } = await table.export(format, view as RowsQuery<never>);
  const url = URL.createObjectURL(await new Response(data).blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = safeName;
  link.click();
  URL.revokeObjectURL(url);
}

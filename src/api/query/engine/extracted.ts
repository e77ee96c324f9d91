/** Takes cells out of the bodies of rows, in SQL of the columnar engine. */

/** Where the cell of a column is in the body of a row. */
export function pointerTo(columnId: string): string {
  return `/${columnId.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** What is at some places of a JSON text, as a list of texts. */
export function extracted(json: string, pointers: readonly string[]): string {
  return pointers.length === 0
    ? '[]'
    : `json_extract_string(${json}, [${pointers.map((pointer) => `'${pointer.replaceAll("'", "''")}'`).join(', ')}])`;
}

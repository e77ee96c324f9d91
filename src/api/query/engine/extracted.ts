/** SQL of the columnar engine that extracts cells from the bodies of rows. */

/** The JSON pointer of a column's cell in the body of a row. */
export function pointerTo(columnId: string): string {
  return `/${columnId.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The values at these JSON pointers, as a list of texts. */
export function extracted(json: string, pointers: readonly string[]): string {
  return pointers.length === 0
    ? '[]'
    : `json_extract_string(${json}, [${pointers.map((pointer) => `'${pointer.replaceAll("'", "''")}'`).join(', ')}])`;
}

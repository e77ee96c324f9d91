/** The reserved key of a row ID. It is not a column, but counts as a position in its row. */
export const rowIdKey = '$rowID';

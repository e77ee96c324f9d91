/** The orders of day, month and year in a file's dates. A time may follow. */
export const dateFormats = ['d.m.y', 'd/m/y', 'm/d/y'] as const;
export type DateFormat = (typeof dateFormats)[number];

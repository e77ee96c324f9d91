/** The orders of day, month and year that a file may write dates in. A time may follow. */
export const dateFormats = ['d.m.y', 'd/m/y', 'm/d/y'] as const;
export type DateFormat = (typeof dateFormats)[number];

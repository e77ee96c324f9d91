/**
 * The language of an event: a number that says which versions of the software can read it. If a version adds kinds of
 * events, a format of records, or a rule for reading rows, it gives them the next number. They are written only once
 * all live processes read that number (docs/decisions/0043).
 */
import { currentRule, languageOfRule } from '../values/rule.ts';
import { definitionOf, newestLanguage, type EventData } from './event.ts';
import { languageOfColumnChanges, languageOfKeys } from './table-events.ts';

/** The newest language that this version reads. It reads all earlier ones too. */
export const eventLanguage = Math.max(
  newestLanguage,
  languageOfRule(currentRule),
  languageOfColumnChanges,
  languageOfKeys,
);

/** The language that an event needs: the maximum of its type's and its fields' languages. */
export function languageOf(data: EventData): number {
  const { language, fields } = definitionOf(data.type)!;
  const values = data as unknown as Readonly<Record<string, unknown>>;
  return Object.entries(fields).reduce((newest, [name, field]) => {
    const value = values[name];
    return field.language === undefined || value === undefined ? newest : Math.max(newest, field.language(value));
  }, language);
}

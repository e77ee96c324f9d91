/** How to write values of a type, for messages. */

interface TypeForm {
  readonly article: 'a' | 'an' | null;
  readonly name: string;
  readonly example: string | null;
}

const forms: Readonly<Record<string, TypeForm>> = {
  number: { article: 'a', name: 'number', example: null },
  boolean: { article: null, name: 'true or false', example: null },
  date: { article: 'a', name: 'date', example: '2024-03-01' },
  time: { article: 'a', name: 'time', example: '10:30' },
  dateTime: { article: 'a', name: 'date with a time', example: '2024-03-01T10:30:00Z' },
  duration: { article: 'a', name: 'duration', example: 'P1D' },
  uri: { article: 'an', name: 'address', example: 'https://example.org' },
  imageURI: { article: 'an', name: 'address', example: 'https://example.org/a.png' },
  audioURI: { article: 'an', name: 'address', example: 'https://example.org/a.mp3' },
  emailAddress: { article: 'an', name: 'e-mail address', example: null },
  phoneNumber: { article: 'a', name: 'phone number', example: null },
  emoji: { article: 'an', name: 'emoji', example: null },
  json: { article: null, name: 'JSON', example: '{"a":1} or "text"' },
};

/** Null for a list, and for a type that every text fits. */
export function formOfType(type: string): TypeForm | null {
  return forms[type] ?? null;
}

/** A phrase for the values of a type: `a date, such as 2024-03-01`. */
export function needOfType(type: string): string {
  const form = formOfType(type);
  if (form === null) return `a value of the type ${type}`;
  return `${form.article === null ? '' : `${form.article} `}${form.name}${form.example === null ? '' : `, such as ${form.example}`}`;
}

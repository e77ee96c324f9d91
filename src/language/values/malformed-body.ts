import { isUtf8 } from 'node:buffer';

/** A request body that is refused before any of it is stored, with this error type (docs/spec/decisions.md 1 and 2). */
export class MalformedBody extends Error {
  override readonly name = 'MalformedBody';
  readonly type: MalformedBodyType;

  /** `message` begins with the place, such as `rows[3].age: `, if there is one. */
  constructor(type: MalformedBodyType, message: string) {
    super(message);
    this.type = type;
  }
}

export type MalformedBodyType = 'request_validation_error' | 'limit_exceeded';

/** Throws unless these bytes are UTF-8. They must not begin or end within a character. */
export function requireUtf8(bytes: Uint8Array, start: number, end: number): void {
  if (!isUtf8(bytes.subarray(start, end))) throw invalidUtf8();
}

export function invalidUtf8(): MalformedBody {
  return new MalformedBody('request_validation_error', 'the body is not valid UTF-8');
}

/** The body is empty or white space. */
export function emptyBody(): MalformedBody {
  return new MalformedBody('request_validation_error', 'the body is empty');
}

/** The body ends in the middle of its JSON. `place`: the row in which it ends, such as `rows[3]`; null if unknown. */
export function unfinishedBody(place: string | null): MalformedBody {
  return new MalformedBody(
    'request_validation_error',
    `${place === null ? '' : `${place}: `}the body stops before its JSON ends`,
  );
}

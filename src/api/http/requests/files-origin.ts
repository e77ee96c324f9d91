/**
 * If `FILES_URL` is set, uploaded files have an origin of their own. Scripts in them then share no origin with the
 * console and the interface.
 */
import type { FastifyRequest } from 'fastify';

export class FilesOrigin {
  /** The URL to which the paths of files are appended: `FILES_URL` without a slash at its end. */
  readonly base: string;
  readonly origin: string;
  readonly #host: string;
  readonly #mainHost: string;

  private constructor(filesUrl: string, publicUrl: string) {
    const { origin, host } = new URL(filesUrl);
    this.base = withoutSlash(filesUrl);
    this.origin = origin;
    this.#host = host;
    this.#mainHost = new URL(publicUrl).host;
  }

  /** Null if files have no origin of their own. */
  static of({
    FILES_URL,
    PUBLIC_URL,
  }: {
    readonly FILES_URL?: string | undefined;
    readonly PUBLIC_URL?: string | undefined;
  }): FilesOrigin | null {
    return FILES_URL === undefined || PUBLIC_URL === undefined ? null : new FilesOrigin(FILES_URL, PUBLIC_URL);
  }

  /** Whether the `Host` of the request names this origin. */
  isAskedBy(request: FastifyRequest): boolean {
    return hostOf(request) === this.#host;
  }

  /**
   * Whether the `Host` of the request names the origin of the interface. A request with neither host came through a
   * proxy that does not forward the client's `Host`, or came past the proxy: redirecting it could go on for ever.
   */
  isMissedBy(request: FastifyRequest): boolean {
    return hostOf(request) === this.#mainHost;
  }
}

/** A base URL without a slash at its end, so that paths can be appended. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

/** The host of the request. `X-Forwarded-Host` has no effect. */
function hostOf({ raw }: FastifyRequest): string {
  return (raw.headers.host ?? '').toLowerCase();
}

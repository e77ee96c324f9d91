/**
 * The nonce of the page. The grid and the editor need it for their style elements, which the policy allows only with
 * it.
 */
export const nonce = document.querySelector<HTMLScriptElement>('script[nonce]')!.nonce;

/** Of the page, whose policy allows style elements with it only: the grid and the editor write such. */
export const nonce = document.querySelector<HTMLScriptElement>('script[nonce]')!.nonce;

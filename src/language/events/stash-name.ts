/**
 * The name of a stash in events and in the read model. Tokens of an app have stashes of their own, so the app is a part
 * of the name (docs/decisions/0062). A client's stash ID contains no slash, so each name belongs to one app or to the
 * team, and to one stash ID.
 */

/**
 * `appId`: the app of the token; null if the token is for the whole team. A name of the team is the plain stash ID, as
 * in events from before apps had stashes.
 */
export function stashNameOf(appId: string | null, stashID: string): string {
  return appId === null ? stashID : `${appId}/${stashID}`;
}

/** The stash ID that the client gave, for messages and lists. */
export function stashIdIn(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

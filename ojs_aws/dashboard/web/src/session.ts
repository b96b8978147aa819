// Holds the credential of this tab: what was pasted, or the tokens of an OpenID Connect issuer.
//
// Everything is in sessionStorage, which ends with the tab. No credential is ever in an address.

import { signal } from "@preact/signals";
import { PAGE, replaceAddress } from "./address";
import { IS_FORWARDED, SERVER } from "./quoting";

/** Where to sign in: the deployment's public configuration, without a secret. */
export interface SignInSettings {
  readonly issuer: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
  readonly audience: string;
  readonly origins: readonly string[];
}

/** What is remembered while somebody signs in at the issuer. */
export interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** The view to return to. */
  readonly view: string;
}

export interface Tokens {
  readonly access: string;
  /** Empty without one. */
  readonly refresh: string;
  /** By this machine's clock, in milliseconds; null: the issuer does not say. */
  readonly expiresAt: number | null;
}

const EARLY_MS = 30_000;

/** `ojs-aws dashboard` shows several servers at one address: each has its own credential. */
const STORED = `ojs-credential ${SERVER}`;
const STORED_TOKENS = `ojs-tokens ${SERVER}`;
const STORED_PENDING = `ojs-sign-in ${SERVER}`;

/** The issuer of this deployment; null where keys and tokens are pasted. */
export const ISSUER = issuerSettings();

/** Why the credential is asked for; empty while nobody asks. */
export const signInReason = signal("");

/** The credential: only the Authorization header carries it. */
export const credential = signal(sessionStorage.getItem(STORED) ?? "");

/** Return the option of a curl sample that sends the key; empty where the server asks for none. */
export function keyOption(): string {
  return credential.value || IS_FORWARDED ? ` \\\n  -H "Authorization: Bearer $OJS_API_KEY"` : "";
}

let tokens = stored<Tokens>(STORED_TOKENS);
let renewing: Promise<void> | null = null;

function issuerSettings(): SignInSettings | null {
  const text = document.querySelector<HTMLMetaElement>("meta[name=ojs-sign-in]")?.content;
  return text ? (JSON.parse(text) as SignInSettings) : null;
}

function stored<T>(name: string): T | null {
  const text = sessionStorage.getItem(name);
  return text ? (JSON.parse(text) as T) : null;
}

function store(name: string, text: string): void {
  if (text) sessionStorage.setItem(name, text);
  else sessionStorage.removeItem(name);
}

/** Keep a pasted credential for this tab, or forget it (an empty text). */
export function keepCredential(text: string): void {
  credential.value = text;
  store(STORED, text);
  keepTokens(null);
}

function keepTokens(found: Tokens | null): void {
  tokens = found;
  store(STORED_TOKENS, found ? JSON.stringify(found) : "");
  if (!found) return;
  credential.value = found.access;
  store(STORED, found.access);
}

/** Return the credential to send, renewed if it is about to expire; empty if somebody has to sign in first. */
export async function currentCredential(): Promise<string> {
  if (tokens?.expiresAt && tokens.expiresAt - EARLY_MS < Date.now()) await renewCredential();
  if (!credential.value && ISSUER) signInReason.value ||= "Sign in to use this page.";
  return credential.value;
}

/** Renew the tokens, once for all who ask at a time; return true if there are new ones. */
export async function renewCredential(): Promise<boolean> {
  if (!tokens) return false;
  const present = tokens;
  renewing ??= renew(present).finally(() => {
    renewing = null;
  });
  await renewing;
  return tokens !== null && tokens !== present;
}

async function renew(present: Tokens): Promise<void> {
  const hasExpired = present.expiresAt !== null && present.expiresAt <= Date.now();
  let reason = hasExpired ? "Your sign-in has expired. Sign in again." : "The server does not accept this sign-in. Sign in again.";
  if (present.refresh && ISSUER) {
    const { renew, SignInError } = await import("./oidc");
    try {
      const found = await renew(ISSUER, present.refresh);
      if (tokens === present) keepTokens(found);
      return;
    } catch (error) {
      if (error instanceof SignInError && error.isPassing) {
        if (hasExpired) throw error;
        return;
      }
      reason = `Your sign-in has expired. ${messageOf(error)}`;
    }
  }
  if (tokens !== present) return;
  keepCredential("");
  signInReason.value = reason;
}

/** Leave for the issuer's own page; it leads back to the view that is open. */
export async function signInAtIssuer(settings: SignInSettings): Promise<void> {
  const { begin } = await import("./oidc");
  const found = await begin(settings, PAGE.href, location.hash, Boolean(credential.value));
  store(STORED_PENDING, JSON.stringify(found.pending));
  location.assign(found.address);
}

/** Take the issuer's answer out of the address, and exchange it for tokens, if the page was opened with one. */
export async function finishSignIn(): Promise<void> {
  const answer = issuerAnswer();
  if (!answer || !ISSUER) return;
  const pending = stored<Pending>(STORED_PENDING);
  store(STORED_PENDING, "");
  replaceAddress(pending?.view ?? "");
  if (!pending) {
    signInReason.value = "This tab did not ask for the sign-in that it was sent. Sign in again.";
    return;
  }
  try {
    const { redeem } = await import("./oidc");
    keepTokens(await redeem(ISSUER, PAGE.href, answer, pending));
  } catch (error) {
    keepCredential("");
    signInReason.value = messageOf(error);
  }
}

/** Return what the issuer answered: in the query, or after the `#`, where a view begins with a slash. */
function issuerAnswer(): URLSearchParams | null {
  for (const text of [location.search, location.hash.startsWith("#/") ? "" : location.hash]) {
    const found = new URLSearchParams(text.slice(1));
    if (found.has("state") && (found.has("code") || found.has("error"))) return found;
  }
  return null;
}

/** Forget the credential; one of an issuer is revoked, and the session there is ended. */
export async function signOut(): Promise<void> {
  const present = tokens;
  keepCredential("");
  if (present && ISSUER) {
    try {
      const { end } = await import("./oidc");
      const leave = await end(ISSUER, PAGE.href, present.refresh || present.access);
      if (leave) {
        location.assign(leave);
        return;
      }
    } catch {
      // The issuer cannot be reached: this tab is signed out anyway.
    }
  }
  location.reload();
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Talks to an OpenID Connect issuer: Authorization Code with PKCE, state and nonce (OAuth 2.0, RFC 9700).
//
// Loaded when somebody signs in. It imports nothing of the page, so that the bundler shares no file with it.

import * as oauth from "oauth4webapi";
import type { Pending, SignInSettings, Tokens } from "./session";

const TIMEOUT_MS = 20_000;

/** Says in plain words why somebody is not signed in. */
export class SignInError extends Error {
  constructor(
    message: string,
    /** True if the same request may work later. */
    readonly isPassing: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Return where to sign in, and what to remember until the issuer answers.
 *
 * @param isOther asks for a name and a password even if the issuer still knows somebody.
 */
export async function begin(
  settings: SignInSettings, page: string, view: string, isOther: boolean,
): Promise<{ address: string; pending: Pending }> {
  if (!crypto.subtle) throw new SignInError("Signing in needs HTTPS: open this page by its https address.", false);
  return explained(settings, async () => {
    const server = await discover(settings);
    const pending = {
      state: oauth.generateRandomState(),
      nonce: oauth.generateRandomNonce(),
      verifier: oauth.generateRandomCodeVerifier(),
      view,
    };
    const address = endpoint(server.authorization_endpoint, "authorization_endpoint");
    const asked = {
      response_type: "code",
      client_id: settings.client_id,
      redirect_uri: page,
      scope: settings.scopes.join(" "),
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: "S256",
      audience: settings.audience,
      prompt: isOther ? "login" : "",
      // The answer is then after the `#`, and reaches no server and no log.
      response_mode: server.response_modes_supported?.includes("fragment") ? "fragment" : "",
    };
    for (const [name, value] of Object.entries(asked)) if (value) address.searchParams.set(name, value);
    return { address: address.href, pending };
  });
}

/** Exchange the code of the issuer's answer for tokens. */
export async function redeem(settings: SignInSettings, page: string, answer: URLSearchParams, pending: Pending): Promise<Tokens> {
  return explained(settings, async () => {
    const server = await discover(settings);
    const checked = oauth.validateAuthResponse(server, client(settings), answer, pending.state);
    const response = await oauth.authorizationCodeGrantRequest(
      server, client(settings), oauth.None(), checked, page, pending.verifier, options(settings),
    );
    const found = await oauth.processAuthorizationCodeResponse(server, client(settings), response, {
      expectedNonce: pending.nonce,
      requireIdToken: true,
    });
    return tokens(found, "");
  });
}

/** Return new tokens for those that expire. */
export async function renew(settings: SignInSettings, refreshToken: string): Promise<Tokens> {
  return explained(settings, async () => {
    const server = await discover(settings);
    const response = await oauth.refreshTokenGrantRequest(server, client(settings), oauth.None(), refreshToken, options(settings));
    return tokens(await oauth.processRefreshTokenResponse(server, client(settings), response), refreshToken);
  });
}

/** Revoke a token where the issuer can; return the address that ends the session there, or an empty text. */
export async function end(settings: SignInSettings, page: string, token: string): Promise<string> {
  return explained(settings, async () => {
    const server = await discover(settings);
    if (server.revocation_endpoint) {
      // What it answers changes nothing here: the token is forgotten already.
      await oauth.revocationRequest(server, client(settings), oauth.None(), token, options(settings)).catch(() => null);
    }
    if (!server.end_session_endpoint) return "";
    const address = endpoint(server.end_session_endpoint, "end_session_endpoint");
    // The ID token would say who it is, but no token is ever in an address: the issuer asks instead.
    address.searchParams.set("client_id", settings.client_id);
    address.searchParams.set("post_logout_redirect_uri", page);
    return address.href;
  });
}

let known: Promise<oauth.AuthorizationServer> | null = null;

/** Return the issuer's description of itself, which is asked for once. */
async function discover(settings: SignInSettings): Promise<oauth.AuthorizationServer> {
  known ??= description(settings);
  try {
    return await known;
  } catch (error) {
    known = null;
    throw error;
  }
}

async function description(settings: SignInSettings): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(settings.issuer);
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options(settings)));
  for (const address of [server.token_endpoint, server.revocation_endpoint]) {
    const { origin } = new URL(address ?? issuer);
    if (origin !== issuer.origin && !settings.origins.includes(origin)) {
      throw new SignInError(`${issuer.host} gives tokens at ${origin}, which this page may not ask: the deployment has to name that origin.`, false);
    }
  }
  return server;
}

function endpoint(address: string | undefined, name: string): URL {
  if (!address) throw new SignInError(`The issuer names no ${name}.`, false);
  return new URL(address);
}

function client(settings: SignInSettings): oauth.Client {
  return { client_id: settings.client_id };
}

function options(settings: SignInSettings): { signal: AbortSignal; [oauth.allowInsecureRequests]: boolean } {
  // Only an issuer on this machine has such an address: the deployment refuses others.
  return { signal: AbortSignal.timeout(TIMEOUT_MS), [oauth.allowInsecureRequests]: settings.issuer.startsWith("http:") };
}

function tokens(found: oauth.TokenEndpointResponse, refreshToken: string): Tokens {
  const lifetimeMs = found.expires_in === undefined ? null : found.expires_in * 1000;
  return {
    access: found.access_token,
    refresh: found.refresh_token ?? refreshToken,
    expiresAt: lifetimeMs === null ? null : Date.now() + lifetimeMs,
  };
}

/** Do one step with the issuer; what fails is said in plain words. */
async function explained<T>(settings: SignInSettings, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw error instanceof SignInError ? error : explanation(error, new URL(settings.issuer).host);
  }
}

function explanation(cause: unknown, issuer: string): SignInError {
  const said = (message: string, isPassing = false): SignInError => new SignInError(message, isPassing, { cause });
  if (cause instanceof oauth.AuthorizationResponseError || cause instanceof oauth.ResponseBodyError) {
    const reason = [cause.error_description, `(${cause.error})`].filter(Boolean).join(" ");
    if (cause.error === "access_denied") return said(`The sign-in was declined: ${reason}.`);
    return said(`${issuer} refuses the sign-in: ${reason}.`);
  }
  if (cause instanceof oauth.OperationProcessingError) {
    const status = cause.cause instanceof Response ? cause.cause.status : 0;
    if (status >= 400) return said(`${issuer} answers ${status}. Try again later.`, status >= 500 || status === 429);
    return said(`The answer of ${issuer} does not fit to what this tab asked for (${cause.message}). Sign in again.`);
  }
  if (cause instanceof DOMException) return said(`${issuer} does not answer. Try again later.`, true);
  if (cause instanceof TypeError) return said(`${issuer} cannot be reached, or does not allow requests of this page (CORS).`, true);
  return said(`Signing in at ${issuer} did not work: ${cause instanceof Error ? cause.message : String(cause)}.`);
}

// Asks for an API key or a token when the server asks for one, or leads to the issuer of tokens.

import { useEffect, useRef, useState } from "preact/hooks";
import { refresh } from "./polling";
import { SERVER } from "./quoting";
import { credential, ISSUER, keepCredential, messageOf, signInAtIssuer, signInReason, type SignInSettings, signOut } from "./session";

export function SignIn() {
  return signInReason.value ? <SignInDialog reason={signInReason.value} /> : null;
}

function SignInDialog({ reason }: { reason: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => {
    dialog.current?.close();
    signInReason.value = "";
  };
  return (
    <dialog ref={dialog} aria-labelledby="sign-in" onCancel={close}>
      <h2 id="sign-in">Sign in</h2>
      <p role="status">{reason}</p>
      {ISSUER && <IssuerButton settings={ISSUER} />}
      {ISSUER ? <details><summary>Use a token that you have</summary><KeyForm close={close} /></details> : <KeyForm close={close} />}
    </dialog>
  );
}

function IssuerButton({ settings }: { settings: SignInSettings }) {
  const leave = (): void => {
    signInAtIssuer(settings).catch((error: unknown) => {
      signInReason.value = messageOf(error);
    });
  };
  return (
    <div class="buttons">
      <button type="button" class="main" onClick={leave}>Sign in at {new URL(settings.issuer).host}</button>
    </div>
  );
}

function KeyForm({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    keepCredential(text.trim());
    close();
    refresh();
  };
  return (
    <form onSubmit={submit}>
      <label>
        {ISSUER ? "Token" : "API key or token"}
        <input type="password" autocomplete="off" spellcheck={false} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <p class="quiet">It stays in this tab until the tab is closed, and is sent in the Authorization header only.</p>
      {!ISSUER && <p class="quiet">If the server asks for AWS credentials (IAM), this signs each request: <code>{`ojs-aws dashboard --url ${SERVER}`}</code></p>}
      <div class="buttons foot">
        <button type="button" onClick={close}>Cancel</button>
        <button type="submit" class={ISSUER ? "" : "main"}>{ISSUER ? "Use the token" : "Sign in"}</button>
      </div>
    </form>
  );
}

export function SignOutButton() {
  return credential.value ? <button type="button" onClick={() => void signOut()}>Sign out</button> : null;
}

// Asks for an API key or a token when the server asks for one, and keeps it in this tab.

import { useEffect, useRef, useState } from "preact/hooks";
import { credential, keepCredential, signInReason } from "./api";
import { refresh } from "./polling";
import { SERVER } from "./quoting";

export function SignIn() {
  return signInReason.value ? <SignInDialog reason={signInReason.value} /> : null;
}

function SignInDialog({ reason }: { reason: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    keepCredential(text.trim());
    close();
    refresh();
  };
  const close = (): void => {
    dialog.current?.close();
    signInReason.value = "";
  };
  return (
    <dialog ref={dialog} aria-labelledby="sign-in" onCancel={close}>
      <form onSubmit={submit}>
        <h2 id="sign-in">Sign in</h2>
        <p>{reason}</p>
        <label>
          API key or token
          <input type="password" autocomplete="off" spellcheck={false} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <p class="quiet">It stays in this tab until the tab is closed, and is sent in the Authorization header only.</p>
        <p class="quiet">If the server asks for AWS credentials (IAM), this signs each request: <code>{`ojs-aws dashboard --url ${SERVER}`}</code></p>
        <div class="buttons">
          <button type="button" onClick={close}>Cancel</button>
          <button type="submit" class="main">Sign in</button>
        </div>
      </form>
    </dialog>
  );
}

export function SignOutButton() {
  if (!credential.value) return null;
  const signOut = (): void => {
    keepCredential("");
    location.reload();
  };
  return <button type="button" onClick={signOut}>Sign out</button>;
}

// Starts the page; if it was opened with the answer of an issuer, somebody is signed in first.

import { render } from "preact";
import { finishSignIn } from "./session";
import { Shell } from "./shell";

const page = document.getElementById("page");
if (page) {
  page.textContent = "Loading …";
  await finishSignIn();
  page.textContent = "";
  render(<Shell />, page);
}

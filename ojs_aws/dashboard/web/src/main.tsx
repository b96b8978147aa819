// Starts the page.

import { render } from "preact";
import { Shell } from "./shell";

const page = document.getElementById("page");
if (page) render(<Shell />, page);

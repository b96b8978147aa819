// Calls the handler as the runtime of Node does: an event a line, and what it returns or throws.
import { createInterface } from "node:readline";
import { handler } from "./index.mjs";

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { returned: (await handler(JSON.parse(line))) ?? null };
  } catch ({ name, message, stack }) {
    answer = { raised: { errorType: name, errorMessage: message, trace: stack.split("\n") } };
  }
  console.log(JSON.stringify(answer));
}

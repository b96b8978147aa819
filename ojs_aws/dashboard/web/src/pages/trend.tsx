// Says in words whether a queue grows, and how fast.

import { Icon, type IconName } from "../icons";
import { type Throughput, growth } from "../shapes";

/** A change below this is noise: two jobs in five minutes. */
const LEAST = 0.5;

export function Trend({ rates, waiting }: { rates: Throughput; waiting: number }) {
  const by = growth(rates);
  const pace = Math.abs(by) < 10 ? Math.abs(by) : Math.round(Math.abs(by));
  const [icon, look, text]: readonly [IconName, string, string] =
    by >= LEAST && waiting > 0 ? ["grows", "st-retryable", `grows ${pace}/min`]
      : by <= -LEAST && waiting > 0 ? ["falls", "st-completed", `shrinks ${pace}/min`]
        : ["steady", "", waiting > 0 ? "steady" : "empty"];
  return <span class={`trend ${look}`}><Icon name={icon} />{text}</span>;
}

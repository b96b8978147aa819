// The limits on how jobs begin: what each allows, what is used of it, and how many jobs wait for it.

import type { Action } from "../action";
import { ActionButton } from "../action";
import { address, link } from "../address";
import { call, read } from "../api";
import { Code, Empty, Heading, Time, atLeast } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import type { Pagination } from "../shapes";
import { Table } from "../table";
import { spelled } from "../times";

export interface LimitRow {
  readonly key: string;
  readonly waiting_count: number;
  readonly concurrency?: { readonly limit: number; readonly active: number };
  readonly rate?: { readonly limit: number; readonly period: string; readonly current_count: number; readonly window_resets_at: string };
  readonly throttle?: { readonly limit: number; readonly period: string; readonly next_allowed_at: string };
  readonly blocked_until?: string;
  readonly override?: Policy;
  readonly estimated?: readonly string[];
}

/** What an operator set for a limit. */
interface Policy {
  readonly concurrency?: number;
  readonly rate?: Window;
  readonly throttle?: Window;
  readonly on_limit?: string;
  readonly expires_at?: string;
}

interface Window {
  readonly limit: number;
  readonly period: string;
}

interface LimitPage {
  readonly items: readonly LimitRow[];
  readonly pagination: Pagination;
}

export function Limits() {
  const cursor = address.value.query.get("cursor") ?? "";
  const loaded = useData(() => read<LimitPage>(`rate-limits?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`), 10, `limits ${cursor}`);
  const heading = <Heading text="Limits" of={loaded} />;
  const { data } = loaded;
  if (!data) return heading;
  const next = data.pagination.next_cursor;
  return (
    <>
      {heading}
      <Table
        label="Limits"
        rows={data.items}
        nameOf={(limit) => limit.key}
        none={<Empty title="No job or queue has a limit."><p>This one lets five jobs of a queue run at a time:</p><Code label="A command that sets a limit" text={ojsAws("rate-limits", "set", "queue:email", "--concurrency", "5")} /></Empty>}
        columns={[
          { name: "Limit", kind: "name", show: (limit) => <code>{limit.key}</code> },
          { name: "Jobs that wait", isNumber: true, show: waitingFor },
          { name: "At a time", show: (limit) => (limit.concurrency ? `${limit.concurrency.active} of ${limit.concurrency.limit} run` : "–") },
          {
            name: "In a period",
            show: ({ rate }) => (rate ? <>{`${rate.current_count} of ${rate.limit} in ${spelled(rate.period)}`}<div class="quiet">begins again <Time at={rate.window_resets_at} /></div></> : "–"),
          },
          {
            name: "Evenly spaced",
            show: ({ throttle }) => (throttle ? <>{`${throttle.limit} in ${spelled(throttle.period)}`}<div class="quiet">next start <Time at={throttle.next_allowed_at} /></div></> : "–"),
          },
          { name: "Full until", from: 900, show: (limit) => <Time at={limit.blocked_until} /> },
          { name: "Set by an operator", from: 900, show: (limit) => inWords(limit.override) },
          { name: "Change", kind: "actions", show: (limit) => limit.override && <ActionButton action={() => lift(limit.key)} /> },
        ]}
      />
      {next && <p><a href={link(["limits"], { cursor: next })}>Next limits</a></p>}
    </>
  );
}

/** Return how many jobs wait for a limit; a lower bound of nothing is no number. */
function waitingFor({ waiting_count: count, estimated }: LimitRow): string {
  const isExact = !estimated?.includes("waiting_count");
  return count === 0 && !isExact ? "not counted" : atLeast(count, isExact);
}

/** What happens to a job that may not begin. */
const BEYOND: Readonly<Record<string, string>> = { wait: "others wait", drop: "others are dropped", reschedule: "others are scheduled again" };

function inWords(policy: Policy | undefined) {
  if (!policy) return "–";
  const { concurrency, rate, throttle, on_limit: beyond, expires_at: end } = policy;
  const parts = [
    concurrency !== undefined && `${concurrency} at a time`,
    rate && `${rate.limit} in ${spelled(rate.period)}`,
    throttle && `${throttle.limit} in ${spelled(throttle.period)}, evenly spaced`,
    beyond && BEYOND[beyond],
  ];
  return <>{parts.filter(Boolean).join("; ")}{end && <div class="quiet">ends <Time at={end} /></div>}</>;
}

/** Return how much of a limit is used, as one line. */
export function usedOf({ concurrency, rate, throttle }: LimitRow): string {
  const parts = [
    concurrency && `${concurrency.active} of ${concurrency.limit} run`,
    rate && `${rate.current_count} of ${rate.limit} in ${spelled(rate.period)}`,
    throttle && `${throttle.limit} in ${spelled(throttle.period)}, evenly spaced`,
  ];
  return parts.filter(Boolean).join("; ");
}

function lift(key: string): Action {
  return {
    title: `Remove the operator's limits of ${key}?`,
    explanation: "The limits that jobs and queues name apply again.",
    command: ojsAws("rate-limits", "remove", key),
    verb: "Remove",
    run: async () => {
      await call("DELETE", `rate-limits/${encodeURIComponent(key)}`);
      return `The operator's limits of ${key} are removed.`;
    },
  };
}

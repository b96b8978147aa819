// Counts the jobs of queues no more often than it is worth: what a count reads grows with the backlog.

import { read, readIfAllowed } from "../api";
import { type History, RANGES, historyPath } from "../history";
import type { QueuePace, QueuePage } from "../shapes";
import { serverNow } from "../times";

export interface CountedQueues {
  readonly page: QueuePage;
  readonly countedAt: string;
  /** How fast each queue moves, from the totals: read each time, since that costs little. */
  readonly pace: Readonly<Record<string, QueuePace>>;
  readonly growth: History["growth"];
  readonly round: number;
}

/** The last hour is read with every fourth round. */
const GROWTH_EVERY = 4;

/** Read units that one open page may use for counting in an hour; a cent. */
const UNITS_AN_HOUR = 80_000;
const SHORTEST_MS = 30_000;
const QUERIES_A_QUEUE = 7;
/** What a job takes in the index, at most. */
const ROW_BYTES = 400;
const BLOCK_BYTES = 4096;

/** Return how long a count of these queues is kept before it is worth another one. */
export function keptMs(page: QueuePage): number {
  const rows = page.items.flatMap((queue) => Object.values(queue.counts));
  const blocks = rows.reduce<number>((sum, count) => sum + Math.floor(((count ?? 0) * ROW_BYTES) / BLOCK_BYTES), 0);
  const units = (page.items.length * QUERIES_A_QUEUE + blocks) / 2;
  return Math.max(SHORTEST_MS, (units / UNITS_AN_HOUR) * 3_600_000);
}

/** Return the counts of queues: those of before while they are worth keeping, unless somebody asks. */
export async function countQueues(before: CountedQueues | undefined, isAsked: boolean, cursor = ""): Promise<CountedQueues> {
  const overview = await readIfAllowed<{ queues: readonly QueuePace[] }>("admin/overview");
  const pace = Object.fromEntries((overview?.queues ?? []).map((queue) => [queue.name, queue]));
  const round = (before?.round ?? -1) + 1;
  const growth = before && !isAsked && round % GROWTH_EVERY !== 0 ? before.growth : (await readIfAllowed<History>(historyPath(RANGES[0])))?.growth;
  if (before && !isAsked && serverNow() - Date.parse(before.countedAt) < keptMs(before.page)) return { ...before, pace, growth, round };
  const page = await read<QueuePage>(`admin/queues?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
  return { page, pace, growth, round, countedAt: new Date(serverNow()).toISOString() };
}

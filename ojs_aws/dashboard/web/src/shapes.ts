// The parts of the API's answers that the views use.

export const STATES = ["available", "active", "scheduled", "retryable", "pending", "completed", "discarded", "cancelled"] as const;

export type Counts = Readonly<Partial<Record<string, number>>>;

/** Percentiles of times in milliseconds; null where nothing was measured. */
export interface Spread {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** What was done in a minute, on average; jobs that failed for good are among the processed ones. */
export type Throughput = Readonly<Record<"enqueued_per_minute" | "processed_per_minute" | "failed_per_minute" | "retried_per_minute", number>>;

/** Return how many jobs completed in a minute. */
export function completedRate(rates: Throughput): number {
  return Math.round((rates.processed_per_minute - rates.failed_per_minute) * 100) / 100;
}

/** Return how many attempts failed in a minute, whether they are repeated or not. */
export function failureRate(rates: Throughput): number {
  return Math.round((rates.failed_per_minute + rates.retried_per_minute) * 100) / 100;
}

/** What the overview says of a queue, from its totals. */
export interface QueuePace {
  readonly name: string;
  readonly paused: boolean;
  readonly counts: Counts;
  readonly oldest_available_at?: string;
  readonly throughput: Throughput;
  readonly latency_ms: Spread;
  readonly duration_ms: Spread;
}

/** Return how long the present rates take to empty a queue, in milliseconds; null if it does not shrink. */
export function timeToEmptyMs(available: number, rates: Throughput): number | null {
  const faster = rates.processed_per_minute - rates.enqueued_per_minute;
  return faster > 0 ? (available / faster) * 60_000 : null;
}

export interface Pagination {
  readonly total?: number;
  readonly total_is?: "exact" | "estimate" | "at_least";
  readonly total_is_exact?: boolean;
  readonly has_more: boolean;
  readonly next_cursor?: string;
  readonly examined?: number;
}

export interface QueueRow {
  readonly name: string;
  readonly state: string;
  readonly paused: boolean;
  readonly counts: Counts;
  readonly depth: number;
  readonly estimated: readonly string[];
}

export interface QueuePage {
  readonly items: readonly QueueRow[];
  readonly pagination: Pagination;
}

export interface JobRow {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly state: string;
  readonly attempt: number;
  readonly max_attempts: number;
  readonly created_at: string;
  readonly error?: { readonly type?: string; readonly message?: string };
  readonly worker_id?: string;
  readonly started_at?: string;
  readonly enqueued_at?: string;
  readonly scheduled_at?: string;
  readonly next_attempt_at?: string;
  readonly completed_at?: string;
  readonly dead_letter?: boolean;
}

export interface JobPage {
  readonly items: readonly JobRow[];
  readonly pagination: Pagination;
}

export interface Failure {
  readonly type?: string;
  readonly code?: string;
  readonly message?: string;
  readonly backtrace?: string | readonly unknown[];
}

/** What was done in a period. */
export interface Period {
  readonly timestamp: string;
  readonly enqueued: number;
  readonly completed: number;
  /** For good; those that are repeated are `retried`. */
  readonly failed: number;
  readonly retried: number;
  readonly cancelled: number;
  readonly latency_ms: Spread;
  readonly duration_ms: Spread;
}

/** Return by how many jobs a queue grows in a minute; below zero it shrinks. */
export function growth(rates: Throughput): number {
  return Math.round((rates.enqueued_per_minute - rates.processed_per_minute) * 10) / 10;
}

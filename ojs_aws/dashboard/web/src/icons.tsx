// The icons: Lucide's, as one sprite in the page. A use of one is a reference, so a table of a thousand icons stays small.

import {
  Activity, ArrowLeft, ArrowRight, Ban, Bug, CalendarClock, Check, ChevronDown, ChevronRight, CircleAlert, CircleCheck, CircleDashed, CircleDot,
  CircleX, Clock, Copy, Ellipsis, FileBraces, Gauge, Globe, HeartCrack, Hourglass, Inbox, Info, KeyRound, Layers, LayoutDashboard, List, ListFilter,
  Menu, Minus, OctagonAlert, Pause, Play, Plus, RefreshCw, RotateCw, Search, Server, Settings, Sun, Terminal, Timer, Trash2, TrendingDown, TrendingUp,
  TriangleAlert, Users, Workflow, X,
} from "lucide";
import { h } from "preact";

const ICONS = {
  active: Play, activity: Activity, alert: CircleAlert, available: CircleDot, back: ArrowLeft, bug: Bug, cancelled: Ban, check: Check, clock: Clock, close: X,
  command: Terminal, completed: CircleCheck, copy: Copy, critical: OctagonAlert, cron: CalendarClock, discarded: CircleX, down: ChevronDown, draining: Hourglass,
  edit: FileBraces, falls: TrendingDown, filter: ListFilter, forward: ArrowRight, globe: Globe, grows: TrendingUp, inbox: Inbox, key: KeyRound, layers: Layers,
  limits: Gauge, list: List, menu: Menu, more: Ellipsis, note: Info, overview: LayoutDashboard, paused: Pause, pending: CircleDashed, plus: Plus,
  refresh: RefreshCw, retryable: RotateCw, right: ChevronRight, scheduled: Clock, search: Search, server: Server, settings: Settings, silent: HeartCrack, slow: Timer,
  steady: Minus, sun: Sun, tenants: Users, trash: Trash2, warning: TriangleAlert, workflow: Workflow,
} as const;

export type IconName = keyof typeof ICONS;

/** The sprite that all icons refer to; the shell has one. */
export function Sprite() {
  return (
    <svg class="sprite" width="0" height="0" aria-hidden="true">
      {Object.entries(ICONS).map(([name, parts]) => (
        <symbol key={name} id={`i-${name}`} viewBox="0 0 24 24">{parts.map(([tag, attributes]) => h(tag, attributes))}</symbol>
      ))}
    </svg>
  );
}

/** An icon beside a text that says the same. */
export function Icon({ name, isSmall = false }: { name: IconName; isSmall?: boolean }) {
  return <svg class={isSmall ? "icon small" : "icon"} aria-hidden="true"><use href={`#i-${name}`} /></svg>;
}

/** The icon and the colour of each state. */
export const LOOKS: Readonly<Record<string, readonly [IconName, string]>> = {
  active: ["active", "active"],
  available: ["available", "available"],
  cancelled: ["cancelled", "cancelled"],
  completed: ["completed", "completed"],
  critical: ["critical", "discarded"],
  "dead-letter": ["discarded", "discarded"],
  deleted: ["cancelled", "cancelled"],
  discarded: ["discarded", "discarded"],
  draining: ["draining", "pending"],
  error: ["critical", "discarded"],
  expired: ["discarded", "discarded"],
  failed: ["discarded", "discarded"],
  late: ["warning", "retryable"],
  new: ["grows", "discarded"],
  "no-worker": ["silent", "discarded"],
  note: ["note", "note"],
  open: ["active", "active"],
  paused: ["paused", "retryable"],
  pending: ["pending", "pending"],
  quiet: ["paused", "retryable"],
  retryable: ["retryable", "retryable"],
  revoked: ["discarded", "discarded"],
  running: ["active", "active"],
  scheduled: ["scheduled", "scheduled"],
  silent: ["silent", "discarded"],
  skipped: ["steady", "cancelled"],
  slow: ["slow", "retryable"],
  stale: ["silent", "discarded"],
  terminate: ["draining", "pending"],
  terminating: ["draining", "pending"],
  triggered: ["active", "active"],
  valid: ["completed", "completed"],
  waiting: ["pending", "pending"],
  warning: ["warning", "retryable"],
  well: ["completed", "completed"],
};

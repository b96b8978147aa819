// The switches of the top bar: how fresh everything is, the zone of times, the colours.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Icon } from "./icons";
import { Time } from "./parts";
import { failedSince, isIdle, refresh, updatedAt } from "./polling";
import { keepZone, now, zone } from "./times";

const LATE_MS = 45_000;

/** How fresh everything is, and the button that loads it again. */
export function Live() {
  return <div class="freshness"><Freshness /><button type="button" class="icon-button" aria-label="Refresh" title="Refresh" onClick={refresh}><Icon name="refresh" /></button></div>;
}

function Freshness() {
  if (isIdle.value) {
    return <p role="status" class="live late st-retryable">Updates stopped after 30 minutes without input. <button type="button" class="small" onClick={refresh}>Go on</button></p>;
  }
  if (failedSince.value) return <p class="live late st-discarded"><Icon name="alert" />Update failed · <Time at={failedSince.value} /></p>;
  if (!updatedAt.value) return <p class="live">Loading</p>;
  const isLate = now.value - Date.parse(updatedAt.value) > LATE_MS;
  return <p class={isLate ? "live late st-retryable" : "live"}>{isLate ? <Icon name="warning" /> : <span class="dot" />}Live ·<Time at={updatedAt.value} /></p>;
}

export function ZoneSwitch() {
  const isUtc = zone.value === "utc";
  return (
    <button type="button" class="ghost" aria-label={`Times: ${isUtc ? "UTC" : "local"}`} aria-pressed={isUtc} title={`Times: ${isUtc ? "UTC" : "local"}`} onClick={() => keepZone(isUtc ? "local" : "utc")}>
      <Icon name="globe" /><span class="word">Times: {isUtc ? "UTC" : "local"}</span>
    </button>
  );
}

const THEMES = ["auto", "light", "dark"] as const;

export const theme = signal(localStorage.getItem("ojs-theme") ?? "auto");

export function ThemeSwitch() {
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme.value;
  }, [theme.value]);
  const next = THEMES[(THEMES.indexOf(theme.value as (typeof THEMES)[number]) + 1) % THEMES.length] ?? "auto";
  const choose = (): void => {
    theme.value = next;
    localStorage.setItem("ojs-theme", next);
  };
  return (
    <button type="button" class="ghost" aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}; click for ${next}`} onClick={choose}>
      <Icon name="sun" /><span class="word">Theme: {theme.value}</span>
    </button>
  );
}

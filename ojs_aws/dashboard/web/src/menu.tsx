// A menu of actions behind one button: a popover of the browser, so that no table cuts it off.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type Action, ask } from "./action";
import { Icon, type IconName } from "./icons";
import { copyText } from "./clipboard";

export interface MenuItem {
  readonly label: string;
  readonly icon: IconName;
  /** What is asked before it is done; or what is done at once, as to copy something. */
  readonly action?: () => Action;
  readonly run?: () => void;
  /** True if it cannot be undone: it stands last, in red, below a line. */
  readonly isDangerous?: boolean;
}

interface PopoverOptions {
  /** What the button is called. */
  readonly label: string;
  /** What the button shows. */
  readonly face: ComponentChildren;
  readonly kind?: string;
  readonly isDisabled?: boolean;
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button with something that opens below it; Escape and a click elsewhere close it. */
export function Popover({ label, face, kind = "icon-button", isDisabled = false, children }: PopoverOptions) {
  const id = useId();
  const panel = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const [shown, from] = [panel.current, button.current];
    if (isOpen && shown && from) place(shown, from);
  }, [isOpen]);
  return (
    <>
      <button ref={button} type="button" class={kind} aria-label={label} aria-expanded={isOpen} disabled={isDisabled} popovertarget={id}>{face}</button>
      <div ref={panel} id={id} popover="auto" class="popover" onToggle={(event) => setOpen(event.newState === "open")}>
        {isOpen && children(() => panel.current?.hidePopover())}
      </div>
    </>
  );
}

/** Put a panel below its button, or above it where there is no room; positions are set by the script, not by an attribute. */
function place(panel: HTMLElement, button: HTMLElement): void {
  const from = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = panel;
  const below = from.bottom + 4;
  const isAbove = below + height > innerHeight && from.top - 4 - height > 0;
  panel.style.left = `${Math.max(8, Math.min(from.right - width, innerWidth - width - 8))}px`;
  panel.style.top = `${isAbove ? from.top - 4 - height : Math.max(8, Math.min(below, innerHeight - height - 8))}px`;
}

/** A menu; what is dangerous comes last. */
export function Menu({ items, label = "More actions", face, kind }: { items: readonly MenuItem[]; label?: string; face?: ComponentChildren; kind?: string }) {
  if (items.length === 0) return null;
  const sorted = [...items.filter((item) => !item.isDangerous), ...items.filter((item) => item.isDangerous)];
  return (
    <Popover label={label} face={face ?? <Icon name="more" />} {...(kind && { kind })}>
      {(close) => (
        <ul class="menu">
          {sorted.map((item, index) => (
            <li key={item.label} class={item.isDangerous && index > 0 && !sorted[index - 1]?.isDangerous ? "apart" : ""}>
              <button type="button" class={item.isDangerous ? "item danger" : "item"} onClick={() => { close(); if (item.action) ask(item.action()); else item.run?.(); }}>
                <Icon name={item.icon} />{item.label}
              </button>
            </li>
          ))}
        </ul>
      )}
    </Popover>
  );
}

/** The item that copies a command line. */
export function copyCommand(command: string): MenuItem {
  return { label: "Copy as command", icon: "command", run: () => void copyText(command) };
}

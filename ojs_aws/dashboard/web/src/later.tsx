// Views that are seldom opened: their code is loaded when somebody opens the first of them.

import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Heading } from "./parts";

type Views = typeof import("./pages/seldom");

let loaded: Views | null = null;

/** Return a view that loads its code, and says meanwhile that it does, or that it could not. */
export function later<P extends object>(text: string, of: (views: Views) => ComponentType<P>): ComponentType<P> {
  return function Later(props: P) {
    const [views, show] = useState(loaded);
    const [error, fail] = useState<unknown>(null);
    const hadFocus = useRef(false);
    useEffect(() => {
      if (views) return;
      import("./pages/seldom").then((found) => {
        hadFocus.current = document.activeElement?.id === "heading";
        loaded = found;
        show(found);
      }, () => fail("This view could not be loaded. Load the page again: there may be a new version."));
    }, []);
    // The view has a heading of its own, which takes the focus over.
    useEffect(() => {
      if (hadFocus.current) document.getElementById("heading")?.focus();
    }, [views]);
    if (!views) return <Heading text={text} of={{ data: null, error }} />;
    const View = of(views);
    return <View {...props} />;
  };
}

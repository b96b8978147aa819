// Copies a text for somebody.

/** Copy a text; over plain HTTP browsers have no clipboard for scripts, so a selection is copied there. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not allowed here: copy a selection instead.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  const place = document.querySelector("dialog[open]") ?? document.body;
  place.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}

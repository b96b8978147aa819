// Shows characters that would reorder the text around them as escapes, so that a text on the screen reads as it is stored.

const CONTROLS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Return a text for the screen: controls of the writing direction are written as JSON escapes. What is copied keeps them. */
export function shown(text: string): string {
  return text.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16)}`);
}

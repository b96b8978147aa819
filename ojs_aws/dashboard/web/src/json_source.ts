// Finds values in the text of a JSON answer, so that they are shown and copied exactly as they were sent.
//
// JSON.parse would round big integers, reorder keys that look like numbers and lose escapes.

export interface Source {
  readonly kind: "object" | "array" | "string" | "other";
  /** The value as it stands in the answer. */
  readonly text: string;
  readonly members: ReadonlyMap<string, Source>;
  readonly items: readonly Source[];
}

const SPACE = /[ \t\n\r]*/y;
const TEXT = /"(?:[^"\\]|\\.)*"/y;
const OTHER = /-?\d[\d.eE+-]*|true|false|null/y;

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(): Source {
    this.take(SPACE);
    const begin = this.at;
    const first = this.text[begin];
    const members = new Map<string, Source>();
    const items: Source[] = [];
    let kind: Source["kind"] = "other";
    if (first === "{") {
      kind = "object";
      this.list("}", () => {
        const name = JSON.parse(this.need(TEXT)) as string;
        this.need(/[ \t\n\r]*:/y);
        members.set(name, this.value());
      });
    } else if (first === "[") {
      kind = "array";
      this.list("]", () => items.push(this.value()));
    } else if (first === '"') {
      kind = "string";
      this.need(TEXT);
    } else {
      this.need(OTHER);
    }
    return { kind, text: this.text.slice(begin, this.at), members, items };
  }

  private list(end: string, readOne: () => void): void {
    this.at += 1;
    this.take(SPACE);
    while (this.text[this.at] !== end) {
      readOne();
      this.take(SPACE);
      if (this.text[this.at] === ",") this.at += 1;
      else if (this.text[this.at] !== end) throw new SyntaxError(`No JSON at ${this.at}`);
      this.take(SPACE);
    }
    this.at += 1;
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  private need(pattern: RegExp): string {
    const found = this.take(pattern);
    if (!found) throw new SyntaxError(`No JSON at ${this.at}`);
    return found;
  }
}

/** Read a JSON text, keeping the source of each value in it. */
export function readSource(text: string): Source {
  return new Reader(text).value();
}

/** Return the value at a path of names, if there is one. */
export function at(source: Source, ...names: string[]): Source | undefined {
  let found: Source | undefined = source;
  for (const name of names) found = found?.members.get(name);
  return found;
}

/** Return a JSON text with line breaks and indents; each name, number and string stays as it is written. */
export function indented(text: string): string {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  let depth = 0;
  let found = "";
  tokens.forEach((token, index) => {
    const next = tokens[index + 1] ?? "";
    if ("}]".includes(token)) {
      depth -= 1;
      if (!"{[".includes(tokens[index - 1] ?? " ")) found += `\n${"  ".repeat(depth)}`;
      found += token;
      return;
    }
    found += token === ":" ? ": " : token;
    if ("{[".includes(token)) {
      depth += 1;
      if ("}]".includes(next) && next) return;
    }
    if ("{[,".includes(token)) found += `\n${"  ".repeat(depth)}`;
  });
  return found;
}

// Finds values in the text of a JSON answer, so that they are shown and copied exactly as they were sent.
//
// JSON.parse would round big integers, reorder keys that look like numbers and lose escapes.

export interface Source {
  readonly kind: "object" | "array" | "string" | "other";
  /** The value as it stands in the answer. */
  readonly text: string;
  readonly members: ReadonlyMap<string, Source>;
  /** The same with their names as they stand there, quotes and escapes included. */
  readonly entries: readonly (readonly [string, Source])[];
  readonly items: readonly Source[];
}

const SPACE = /[ \t\n\r]*/y;
const COLON = /[ \t\n\r]*:/y;
const OTHER = /-?\d[\d.eE+-]*|true|false|null/y;

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(): Source {
    this.take(SPACE);
    const begin = this.at;
    const first = this.text[begin];
    const members = new Map<string, Source>();
    const entries: (readonly [string, Source])[] = [];
    const items: Source[] = [];
    let kind: Source["kind"] = "other";
    if (first === "{") {
      kind = "object";
      this.list("}", () => {
        const name = this.string();
        this.need(COLON);
        const value = this.value();
        members.set(JSON.parse(name) as string, value);
        entries.push([name, value]);
      });
    } else if (first === "[") {
      kind = "array";
      this.list("]", () => items.push(this.value()));
    } else if (first === '"') {
      kind = "string";
      this.string();
    } else {
      this.need(OTHER);
    }
    return { kind, text: this.text.slice(begin, this.at), members, entries, items };
  }

  /** Refuse anything behind the value. */
  end(): void {
    this.take(SPACE);
    if (this.at < this.text.length) throw new SyntaxError(`No JSON at ${this.at}`);
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

  private string(): string {
    const begin = this.at;
    this.at = stringEnd(this.text, begin);
    return this.text.slice(begin, this.at);
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
  const reader = new Reader(text);
  const value = reader.value();
  reader.end();
  return value;
}

/** Return the value at a path of names, if there is one. */
export function at(source: Source, ...names: string[]): Source | undefined {
  let found: Source | undefined = source;
  for (const name of names) found = found?.members.get(name);
  return found;
}

/** Return where a string ends. A pattern would need memory for each of its characters, and there may be millions. */
function stringEnd(text: string, begin: number): number {
  for (let quote = text.indexOf('"', begin + 1); text[begin] === '"' && quote > 0; quote = text.indexOf('"', quote + 1)) {
    let escapes = 0;
    while (text[quote - 1 - escapes] === "\\") escapes += 1;
    if (escapes % 2 === 0) return quote + 1;
  }
  throw new SyntaxError(`No JSON string at ${begin}`);
}

/** Return a JSON text with line breaks and indents; each name, number and string stays as it is written. */
export function indented(text: string): string {
  const found: string[] = [];
  const write = (value: Source, name: string, depth: number): void => {
    const children: (readonly [string, Source])[] =
      value.kind === "object" ? value.entries.map(([key, each]) => [`${key}: `, each]) : value.items.map((each) => ["", each]);
    if (children.length === 0) {
      found.push(name, value.kind === "object" ? "{}" : value.kind === "array" ? "[]" : value.text);
      return;
    }
    const margin = "  ".repeat(depth + 1);
    found.push(name, value.kind === "object" ? "{" : "[");
    children.forEach(([key, each], index) => {
      found.push(index > 0 ? ",\n" : "\n", margin);
      write(each, key, depth + 1);
    });
    found.push("\n", "  ".repeat(depth), value.kind === "object" ? "}" : "]");
  };
  write(readSource(text), "", 0);
  return found.join("");
}

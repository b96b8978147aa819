// Places the steps of a workflow in columns: each one right of everything that it waits for.

export interface GraphStep {
  readonly id: string;
  readonly type?: string;
  readonly state: string;
  readonly job_id?: string | null;
  readonly job_state?: string;
  readonly started_at?: string;
  readonly completed_at?: string;
  readonly depends_on?: readonly string[];
  readonly steps?: readonly GraphStep[];
  readonly jobs?: readonly GraphStep[];
  readonly callbacks?: Readonly<Record<string, GraphStep>>;
}

type Parts = Pick<GraphStep, "steps" | "jobs" | "callbacks">;

export interface GraphNode {
  /** Its place among the steps, unique in the workflow: `build`, `2.on_success`. */
  readonly path: string;
  readonly step: GraphStep;
  /** Paths of the nodes that it waits for. */
  readonly after: readonly string[];
}

export interface PlacedNode extends GraphNode {
  readonly column: number;
  readonly row: number;
}

/** Return the jobs of a workflow as nodes. A part that has steps itself stands for its first and last ones. */
export function nodesOf(workflow: Parts): GraphNode[] {
  const nodes: GraphNode[] = [];
  add(workflow, "", [], nodes);
  return nodes;
}

/** Add the nodes of some parts; return the paths of those that nothing of the parts waits for. */
function add(parts: Parts, prefix: string, before: readonly string[], nodes: GraphNode[]): string[] {
  const steps = [...(parts.jobs ?? parts.steps ?? [])];
  const ends = new Map<string, readonly string[]>();
  const waitedFor = new Set(steps.flatMap((step) => step.depends_on ?? []));
  const place = (step: GraphStep, name: string, after: readonly string[]): readonly string[] => {
    const path = prefix + name;
    if (step.steps || step.jobs) return add(step, `${path}.`, after, nodes);
    nodes.push({ path, step, after });
    return [path];
  };
  const visit = (step: GraphStep): readonly string[] => {
    const known = ends.get(step.id);
    if (known) return known;
    ends.set(step.id, []); // a circle, which no server accepts, would end here
    const after = (step.depends_on ?? []).flatMap((id) => {
      const other = steps.find((each) => each.id === id);
      return other ? [...visit(other)] : [];
    });
    const found = place(step, step.id, after.length > 0 ? after : before);
    ends.set(step.id, found);
    return found;
  };
  const last = steps.flatMap((step) => (waitedFor.has(step.id) ? (visit(step), []) : [...visit(step)]));
  const callbacks = Object.entries(parts.callbacks ?? {}).flatMap(([name, step]) => [...place(step, name, last)]);
  return callbacks.length > 0 ? callbacks : last;
}

/** Return the nodes with a column and a row each; a node is near those that it waits for. */
export function placed(nodes: readonly GraphNode[]): PlacedNode[] {
  const columns = columnsOf(nodes);
  const rows = new Map<string, number>();
  const found: PlacedNode[] = [];
  for (let column = 0, left = nodes.length; left > 0; column += 1) {
    const here = nodes.filter((node) => columns.get(node.path) === column);
    const middle = (node: GraphNode): number =>
      node.after.reduce((sum, path) => sum + (rows.get(path) ?? 0), 0) / Math.max(1, node.after.length);
    here.map((node) => ({ node, at: middle(node) })).sort((one, other) => one.at - other.at).forEach(({ node }, row) => {
      rows.set(node.path, row);
      found.push({ ...node, column, row });
    });
    left -= here.length;
  }
  return found;
}

/** Return the column of each node. Nodes come after those that they wait for. */
function columnsOf(nodes: readonly GraphNode[]): ReadonlyMap<string, number> {
  const columns = new Map<string, number>();
  for (const node of nodes) {
    columns.set(node.path, Math.max(-1, ...node.after.map((path) => columns.get(path) ?? -1)) + 1);
  }
  return columns;
}

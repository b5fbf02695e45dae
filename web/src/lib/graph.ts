/* Where the jobs of a chain stand in its drawing: what came before on the left, what follows on the right. Pure. */

/** A job, or a group of jobs; `to` leads to it where it is there already. */
export interface Node {
  key: string;
  name: string;
  about: string;
  status: string;
  kind: "job" | "group";
  id: string | null;
  here?: boolean;
  next: Node[];
}

export interface Placed {
  node: Node;
  x: number;
  y: number;
}

export interface Drawing {
  placed: Placed[];
  edges: { from: Placed; to: Placed }[];
  width: number;
  height: number;
}

export const BOX = { width: 190, height: 46, gap: 44, row: 12 };

/** Columns from left to right; what follows one job stands below one another, and the job in the middle of it. */
export function drawn(roots: readonly Node[]): Drawing {
  const placed: Placed[] = [];
  const edges: Drawing["edges"] = [];
  let row = 0;
  const place = (node: Node, column: number): Placed => {
    const mine: Placed = { node, x: column * (BOX.width + BOX.gap), y: 0 };
    placed.push(mine);
    const next = node.next.map((one) => place(one, column + 1));
    const first = next[0];
    mine.y = first ? (first.y + next.at(-1)!.y) / 2 : row++ * (BOX.height + BOX.row);
    for (const to of next) edges.push({ from: mine, to });
    return mine;
  };
  for (const root of roots) place(root, 0);
  const width = Math.max(0, ...placed.map((one) => one.x + BOX.width));
  return { placed, edges, width, height: Math.max(0, ...placed.map((one) => one.y + BOX.height)) };
}

/** The line from the right side of a box to the left side of another. */
export function curve(from: Placed, to: Placed): string {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x, to.y + BOX.height / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

/** A text that fits into a box of so many letters. */
export const cut = (text: string, most: number) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

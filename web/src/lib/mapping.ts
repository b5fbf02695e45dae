/* A mapping while it is being made: what fills each field, what is still open, how rows will be read. Pure. */

export interface Column {
  name: string;
  samples: string[];
}

export interface Target {
  name: string;
  type: string;
  title: string | null;
  description: string | null;
  required: boolean;
}

export type Filled = Record<string, string | null>;

export function start(targets: readonly Target[], proposal: Filled): Filled {
  return Object.fromEntries(targets.map((target) => [target.name, proposal[target.name] ?? null]));
}

export const open = (targets: readonly Target[], filled: Filled): Target[] =>
  targets.filter((target) => target.required && !filled[target.name]);

export function free(columns: readonly Column[], filled: Filled): Column[] {
  const used = new Set(Object.values(filled));
  return columns.filter((column) => !used.has(column.name));
}

export const changed = (filled: Filled, proposal: Filled): string[] =>
  Object.keys(filled).filter((name) => (filled[name] ?? null) !== (proposal[name] ?? null));

/** The first rows as they will be read: one value for each field, null where no column fills it. */
export function rows(targets: readonly Target[], columns: readonly Column[], filled: Filled): (string | null)[][] {
  const by = new Map(columns.map((column) => [column.name, column.samples]));
  const most = Math.max(0, ...columns.map((column) => column.samples.length));
  return Array.from({ length: most }, (_, row) =>
    targets.map((target) => {
      const column = filled[target.name];
      return column ? (by.get(column)?.[row] ?? "") : null;
    }),
  );
}

const letters = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** A column that is still free and is called like the field. */
export function hint(target: Target, columns: readonly Column[], filled: Filled): Column | null {
  const wanted = letters(target.name);
  return (
    free(columns, filled).find(
      (column) => letters(column.name).includes(wanted) || wanted.includes(letters(column.name)),
    ) ?? null
  );
}

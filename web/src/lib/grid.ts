/* The coverage grid as it is walked and selected: a place is a row and a column, a range is two places. Pure. */

export interface Place {
  row: number;
  column: number;
}

/** A cell by what it stands for; it stays the same cell when rows or columns around it change. */
export interface Spot {
  source: string | null;
  period: string;
}

interface Axes {
  rows: { source: string | null }[];
  columns: { period: string }[];
}

export function spotAt(grid: Axes, place: Place): Spot {
  return { source: grid.rows[place.row]!.source, period: grid.columns[place.column]!.period };
}

/** Where a cell is in a grid; null where this grid does not show it. */
export function placeOf(grid: Axes, spot: Spot | null | undefined): Place | null {
  if (!spot) return null;
  const row = grid.rows.findIndex((one) => one.source === spot.source);
  const column = grid.columns.findIndex((one) => one.period === spot.period);
  return row < 0 || column < 0 ? null : { row, column };
}

export interface Range {
  from: Spot;
  to: Spot;
}

/** What is selected of a grid; null where it does not show both ends. */
export function areaOf(grid: Axes, range: Range | null): Area | null {
  const from = placeOf(grid, range?.from);
  const to = placeOf(grid, range?.to);
  return from && to ? area(from, to) : null;
}

export interface Area {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

export function area(from: Place, to: Place): Area {
  return {
    top: Math.min(from.row, to.row),
    bottom: Math.max(from.row, to.row),
    left: Math.min(from.column, to.column),
    right: Math.max(from.column, to.column),
  };
}

export function inside(place: Place, range: Area | null): boolean {
  return (
    range !== null &&
    place.row >= range.top &&
    place.row <= range.bottom &&
    place.column >= range.left &&
    place.column <= range.right
  );
}

/** The edges of a range that a cell stands at, as classes. */
export function edges(place: Place, range: Area | null): string {
  if (!range || !inside(place, range)) return "";
  const at = [
    place.row === range.top && "e-t",
    place.row === range.bottom && "e-b",
    place.column === range.left && "e-l",
    place.column === range.right && "e-r",
  ];
  return ["in", ...at.filter(Boolean)].join(" ");
}

const STEPS: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Where a key leads from here; null for a key that leads nowhere. */
export function walked(from: Place, key: string, rows: number, columns: number): Place | null {
  if (key === "Home") return { row: from.row, column: 0 };
  if (key === "End") return { row: from.row, column: columns - 1 };
  const step = STEPS[key];
  if (!step) return null;
  return {
    row: Math.max(0, Math.min(rows - 1, from.row + step[0])),
    column: Math.max(0, Math.min(columns - 1, from.column + step[1])),
  };
}

export type Zoom = "year" | "month" | "day";

/** The range of periods that a zoom shows at a place: all years, the months of a year, the days of a month. */
export function shown(zoom: Zoom, at: string | undefined): { first?: string; last?: string } {
  if (zoom === "year" || !at) return {};
  if (zoom === "month") return { first: at.slice(0, 4), last: at.slice(0, 4) };
  return { first: at.slice(0, 7), last: at.slice(0, 7) };
}

/** A year, a month or a day of an address, as "2013", "2013-02" or "2013-02-12"; undefined for anything else. */
export function timeOf(text: string | undefined): string | undefined {
  return text && /^(?!0000)\d{4}(-(0[1-9]|1[0-2])(-\d{2})?)?$/.test(text) ? text : undefined;
}

/** The place beside: a year or a month earlier or later; the same one at the ends of the calendar. */
export function beside(zoom: Zoom, at: string, by: number): string {
  const year = Number(at.slice(0, 4));
  const months = year * 12 + Number(at.slice(5, 7) || 1) - 1 + (zoom === "day" ? by : 12 * by);
  const there = String(Math.floor(months / 12)).padStart(4, "0");
  const next = zoom === "day" ? `${there}-${String((months % 12) + 1).padStart(2, "0")}` : there;
  return timeOf(next) ?? at;
}

/** The month to show when days are asked for: that of the address, else the first one shown. */
export function monthOf(at: string, first: string | undefined): string | undefined {
  if (at.length >= 7) return at;
  const year = at || first?.slice(0, 4);
  return timeOf(year && `${year}-${first?.slice(5, 7) || "01"}`);
}

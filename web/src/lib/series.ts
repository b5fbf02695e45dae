/* From points of the API to what is drawn: columns of numbers, stacked, and the words beside them. Pure. */

import { join, word } from "./filter";

export interface Point {
  at: string;
  finished: Record<string, number>;
  wait: { p50: number; p95: number } | null;
  run: { p50: number; p95: number } | null;
}

export const ENDS = ["completed", "partial", "failed", "cancelled"] as const;

/** Each end on top of those before it, the highest first, so that the lower ones are drawn over it. */
export function stacked(points: readonly Point[]): { times: number[]; tops: Record<(typeof ENDS)[number], number[]> } {
  const tops = {
    completed: [] as number[],
    partial: [] as number[],
    failed: [] as number[],
    cancelled: [] as number[],
  };
  for (const point of points) {
    let sum = 0;
    for (const end of ENDS) {
      sum += point.finished[end] ?? 0;
      tops[end].push(sum);
    }
  }
  return { times: points.map((point) => Date.parse(point.at) / 1000), tops };
}

export function spreads(points: readonly Point[]): {
  times: number[];
  wait95: (number | null)[];
  run50: (number | null)[];
  run95: (number | null)[];
} {
  const least = (seconds: number | undefined) => (seconds === undefined ? null : Math.max(0.001, seconds));
  return {
    times: points.map((point) => Date.parse(point.at) / 1000),
    wait95: points.map((point) => least(point.wait?.p95)),
    run50: points.map((point) => least(point.run?.p50)),
    run95: points.map((point) => least(point.run?.p95)),
  };
}

/** The filter that finds the jobs of one step; the page lists as many as the chart counts, while they are kept. */
export function opened(at: number, step: number, narrow: Record<string, string | undefined>, end?: string): string {
  const moment = (second: number) => new Date(second * 1000).toISOString().replace(".000", "");
  const words = Object.entries(narrow).flatMap(([key, value]) => (value ? [word(key, value)] : []));
  return join([...words, ...(end ? [`status:${end}`] : []), `ended:${moment(at)}/${moment(at + step)}`]);
}

export function sums(points: readonly Point[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const point of points)
    for (const [end, number] of Object.entries(point.finished)) found[end] = (found[end] ?? 0) + number;
  return found;
}

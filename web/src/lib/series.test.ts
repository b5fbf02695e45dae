import { describe, expect, it } from "vitest";
import { opened, type Point, spreads, stacked, sums } from "./series";

const point = (finished: Record<string, number>, run: Point["run"] = null): Point => ({
  at: "2026-03-02T14:00:00Z",
  finished,
  wait: null,
  run,
});

describe("a series", () => {
  it("is stacked in the order of its ends", () => {
    const { tops } = stacked([point({ completed: 5, failed: 2 }), point({ partial: 1 })]);
    expect(tops.completed).toEqual([5, 0]);
    expect(tops.partial).toEqual([5, 1]);
    expect(tops.failed).toEqual([7, 1]);
  });

  it("has gaps where nothing ran, and no zero on a logarithmic scale", () => {
    const { run50, wait95 } = spreads([point({}), point({}, { p50: 0, p95: 2 })]);
    expect(run50).toEqual([null, 0.001]);
    expect(wait95).toEqual([null, null]);
  });

  it("is summed by end", () => {
    expect(sums([point({ completed: 5 }), point({ completed: 1, failed: 2 })])).toEqual({ completed: 6, failed: 2 });
  });

  it("opens the jobs of a step", () => {
    const at = Date.UTC(2026, 2, 2, 14) / 1000;
    expect(opened(at, 300, { task: "load", queue: undefined, source: "w A" }, "failed")).toBe(
      'task:load source:"w A" status:failed ended:2026-03-02T14:00:00Z/2026-03-02T14:05:00Z',
    );
  });
});

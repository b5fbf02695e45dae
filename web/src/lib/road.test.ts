import { describe, expect, it } from "vitest";
import { folded, type Line, lasted, road, totals } from "./road";

const at = (second: number) => new Date(Date.UTC(2026, 2, 2, 14, 0, second)).toISOString();
const line = (second: number, name: string, to: string | null, more: Partial<Line> = {}): Line => ({
  at: at(second),
  name,
  to,
  actor: null,
  reason: null,
  run_no: null,
  ...more,
});
const names = (found: ReturnType<typeof road>) => found.map((one) => one.status);

const LOST = [
  line(2, "submitted", "pending", { actor: "person:ann", reason: "backfill" }),
  line(19, "started", "running"),
  line(31, "interrupted", "interrupted", { reason: "its worker died" }),
  line(32, "recovered", "pending", { actor: "upkeep" }),
  line(33, "started", "running"),
  line(42, "finished", "partial"),
];
const RUNS = [
  { attempt: 1, started_at: at(19), worker: "w1" },
  { attempt: 2, started_at: at(33), worker: "w2" },
];

describe("road", () => {
  it("shows a lost worker as a detour between two runs, each with its worker", () => {
    const found = road(LOST, RUNS);
    expect(names(found)).toEqual(["created", "pending", "running", "interrupted", "pending", "running", "partial"]);
    expect(found[2]).toMatchObject({ worker: "w1", attempt: 1, until: at(31) });
    expect(found[5]).toMatchObject({ worker: "w2", attempt: 2, until: at(42) });
    expect(found[0]).toMatchObject({ actor: "person:ann", reason: "backfill" });
    expect(found[1]?.actor).toBeNull();
  });

  it("has no wait that nobody could see", () => {
    const found = road(
      [line(2, "submitted", "pending"), line(2, "started", "running"), line(3, "finished", "completed")],
      [],
    );
    expect(names(found)).toEqual(["created", "running", "completed"]);
  });

  it("leaves out remarks that move nothing", () => {
    expect(road([...LOST, line(43, "body_returned", null)], RUNS)).toHaveLength(7);
  });

  it("counts a station that still lasts up to now", () => {
    const found = road(LOST.slice(0, 2), RUNS);
    expect(lasted(found[2]!, Date.parse(at(24)))).toBe(5);
  });

  it("tells the whole and the work apart", () => {
    expect(totals(road(LOST, RUNS), Date.parse(at(59)))).toEqual({ whole: 40, work: 21 });
  });

  it("folds the middle of a long road", () => {
    const many = Array.from({ length: 10 }, (_, n) => [
      line(10 + 2 * n, "started", "running"),
      line(11 + 2 * n, "retry_planned", "pending"),
    ]).flat();
    const found = folded(road([line(2, "submitted", "pending"), ...many], []), 8);
    expect(found.head.length + found.hidden + found.end.length).toBe(22);
    expect(found.end).toHaveLength(5);
  });
});

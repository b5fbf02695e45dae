import { describe, expect, it } from "vitest";
import { folded, road, type Subject, type TrailEvent } from "./road";

const at = (second: number) => new Date(Date.UTC(2026, 2, 2, 14, 0, second)).toISOString();
const job = (more: Partial<Subject>): Subject => ({
  status: "completed",
  created_at: at(2),
  started_at: at(19),
  finished_at: at(42),
  worker: "w2",
  attempt: 1,
  run_no: 1,
  actor: "person:ann",
  ...more,
});
const names = (found: ReturnType<typeof road>) => found.map((one) => one.status);

describe("road", () => {
  it("tells a plain success from the columns alone", () => {
    const found = road(job({}), []);
    expect(names(found)).toEqual(["created", "pending", "running", "completed"]);
    expect(found[2]).toMatchObject({ at: at(19), until: at(42), worker: "w2", attempt: 1 });
  });

  it("shows a lost worker as a detour between two runs", () => {
    const lost: TrailEvent[] = [
      {
        at: at(31),
        name: "interrupted",
        from: "running",
        to: "interrupted",
        run_no: 1,
        detail: { attempt: 1, started_at: at(19), worker: "w1" },
      },
      { at: at(32), name: "recovered", from: "interrupted", to: "pending", run_no: 1, actor: "upkeep" },
      {
        at: at(42),
        name: "finished",
        from: "running",
        to: "partial",
        run_no: 2,
        detail: { attempt: 2, started_at: at(33), worker: "w2" },
      },
    ];
    const found = road(job({ status: "partial", started_at: at(33), attempt: 2, run_no: 2 }), lost);
    expect(names(found)).toEqual(["created", "pending", "running", "interrupted", "pending", "running", "partial"]);
    expect(found[2]?.worker).toBe("w1");
    expect(found[5]).toMatchObject({ worker: "w2", attempt: 2, until: at(42) });
  });

  it("has no wait that nobody could see", () => {
    const found = road(job({ started_at: at(2) }), []);
    expect(names(found)).toEqual(["created", "running", "completed"]);
  });

  it("ends at the run that goes on", () => {
    const found = road(job({ status: "running", finished_at: null }), []);
    expect(found.at(-1)).toMatchObject({ status: "running", until: null });
  });

  it("leaves out remarks that move nothing", () => {
    const found = road(job({}), [{ at: at(30), name: "stuck", run_no: 1 }]);
    expect(names(found)).toEqual(["created", "pending", "running", "completed"]);
  });

  it("folds the middle of a long road", () => {
    const events = Array.from({ length: 12 }, (_, n) => ({
      at: at(20 + n),
      name: "retry_planned",
      from: "running",
      to: "pending",
      run_no: n,
      detail: { started_at: at(19 + n), attempt: n },
    }));
    const found = folded(road(job({ status: "pending", finished_at: null }), events), 7);
    expect(found.head.length + found.end.length).toBe(6);
    expect(found.hidden.length).toBeGreaterThan(10);
  });
});

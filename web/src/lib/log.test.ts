import { describe, expect, it } from "vitest";
import { body, firstError, joined, type LogRecord, marked } from "./log";

const record = (seq: number, text: string): LogRecord => ({ seq, at: "2026-03-02T14:00:00.000Z", level: "INFO", text });

describe("a log", () => {
  it("has no piece twice, and lets the last one grow", () => {
    const old = [record(0, "a"), record(1, "b")];
    expect(joined(old, [record(1, "b"), record(1, "c"), record(2, "d")]).map((one) => one.text)).toEqual([
      "a",
      "b",
      "c",
      "d",
    ]);
  });

  it("puts earlier pieces before", () => {
    expect(joined([record(5, "e")], [record(3, "c"), record(4, "d")]).map((one) => one.text)).toEqual(["c", "d", "e"]);
  });

  it("shows time and level once", () => {
    expect(body(record(0, "2026-03-02T14:00:00.000Z INFO download: 3 rows"))).toBe("download: 3 rows");
  });

  it("shows no colours of a terminal", () => {
    expect(body(record(0, "\u001b[1;31mno\u001b[0m \u001b]0;title\u0007row"))).toBe("no row");
  });

  it("finds the first error", () => {
    const records = [record(0, "a"), { ...record(1, "b"), level: "ERROR" }, { ...record(2, "c"), level: "CRITICAL" }];
    expect(firstError(records)).toBe(1);
    expect(firstError(records.slice(0, 1))).toBe(-1);
  });

  it("marks what was searched for, in any case", () => {
    expect(marked("Wind and wind", "wind").map((part) => part.hit)).toEqual([true, false, true]);
    expect(marked("a.b", ".").filter((part) => part.hit)).toHaveLength(1);
  });
});

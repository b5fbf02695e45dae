import { describe, expect, it } from "vitest";
import { type Column, changed, free, hint, open, rows, start, type Target } from "./mapping";

const target = (name: string, required = false): Target => ({
  name,
  type: "string",
  title: null,
  description: null,
  required,
});
const COLUMNS: Column[] = [
  { name: "Tail No.", samples: ["N10156", "N102UW"] },
  { name: "Built", samples: ["2004"] },
  { name: "Year of seats", samples: [] },
];
const TARGETS = [target("tailnum", true), target("year", true), target("speed")];

describe("a mapping", () => {
  const filled = start(TARGETS, { tailnum: "Tail No." });

  it("begins with the proposal and tells what is open", () => {
    expect(filled).toEqual({ tailnum: "Tail No.", year: null, speed: null });
    expect(open(TARGETS, filled).map((one) => one.name)).toEqual(["year"]);
    expect(free(COLUMNS, filled).map((one) => one.name)).toEqual(["Built", "Year of seats"]);
  });

  it("knows what a person has changed", () => {
    expect(changed({ ...filled, year: "Built" }, { tailnum: "Tail No." })).toEqual(["year"]);
  });

  it("shows rows as they will be read", () => {
    expect(rows(TARGETS, COLUMNS, filled)).toEqual([
      ["N10156", null, null],
      ["N102UW", null, null],
    ]);
  });

  it("points at a free column that is called like the field", () => {
    expect(hint(TARGETS[1]!, COLUMNS, filled)?.name).toBe("Year of seats");
  });
});

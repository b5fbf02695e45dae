import { describe, expect, it } from "vitest";
import { begin, misfits, withNulls } from "./check";

const SCHEMA = {
  type: "object",
  properties: {
    airport: { type: "string", minLength: 3 },
    hours: { type: "array", items: { type: "integer", minimum: 0 } },
    limit: { type: "integer", default: 5 },
    note: { type: "string", "x-nullable": true },
  },
  required: ["airport", "note"],
};

describe("what does not fit", () => {
  it("is named by its own place, not by those above it", () => {
    const found = misfits(SCHEMA, { airport: "EWR", hours: [1, -2], note: "" });
    expect(found.map((one) => one.path.join("."))).toEqual(["hours.1"]);
  });

  it("names the field that is missing", () => {
    expect(misfits(SCHEMA, { note: "x" }).map((one) => one.path.join("."))).toContain("airport");
  });

  it("names what the schema wants, also behind a reference", () => {
    const schema = {
      type: "object",
      properties: { code: { $ref: "#/$defs/code" }, day: { type: ["integer", "null"] } },
      required: ["code", "place", "time"],
      $defs: { code: { type: "string", maxLength: 3 } },
    };
    expect(misfits(schema, { code: "JFK EWR", day: "x" })).toEqual([
      { path: ["place"], keyword: "required", wanted: "place" },
      { path: ["time"], keyword: "required", wanted: "time" },
      { path: ["code"], keyword: "maxLength", wanted: 3 },
      { path: ["day"], keyword: "type", wanted: ["integer", "null"] },
    ]);
  });

  it("is nothing where all fits", () => {
    expect(misfits(SCHEMA, { airport: "EWR", note: "x" })).toEqual([]);
  });

  it("builds no code from text", () => {
    const before = globalThis.Function;
    // As a page whose policy forbids `unsafe-eval` has it.
    globalThis.Function = (() => {
      throw new Error("no code from text");
    }) as unknown as FunctionConstructor;
    try {
      expect(misfits(SCHEMA, { airport: "E", note: "x" })).toHaveLength(1);
    } finally {
      globalThis.Function = before;
    }
  });
});

describe("a form", () => {
  it("begins with what the schema says", () => {
    expect(begin(SCHEMA)).toEqual({ limit: 5 });
  });

  it("gives null for what may be null and was left empty", () => {
    expect(withNulls(SCHEMA, { airport: "EWR" })).toEqual({ airport: "EWR", note: null });
  });
});

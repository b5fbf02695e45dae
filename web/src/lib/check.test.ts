import { describe, expect, it } from "vitest";
import { begin, concealed, misfits, withNulls } from "./check";

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

  it("names what the nearest of several forms misses", () => {
    const schema = {
      type: "object",
      properties: {
        place: {
          oneOf: [
            {
              type: "object",
              properties: { kind: { const: "file" }, path: { type: "string" } },
              required: ["kind", "path"],
            },
            { $ref: "#/$defs/table" },
          ],
        },
        size: { anyOf: [{ type: "integer" }, { type: "string", minLength: 3 }] },
      },
      $defs: {
        table: {
          type: "object",
          properties: { kind: { const: "table" }, name: { type: "string" }, schema: { type: "string" } },
          required: ["kind", "name", "schema"],
        },
      },
    };
    const told = (value: unknown) => misfits(schema, value).map((one) => `${one.path.join(".")} ${one.keyword}`);
    expect(told({ place: { kind: "table" } })).toEqual(["place.name required", "place.schema required"]);
    expect(told({ place: { kind: "file" } })).toEqual(["place.path required"]);
    expect(told({ size: "ab" })).toEqual(["size minLength"]);
    expect(told({ place: { kind: "file", path: "x" }, size: 5 })).toEqual([]);
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
  it("begins with the first of a choice that must be made, and with none of one that may be left", () => {
    const choice = { type: "string", enum: ["all", "none"] };
    const schema = { type: "object", required: ["publish"], properties: { publish: choice, also: choice } };
    expect(begin(schema)).toEqual({ publish: "all" });
  });

  it("begins with what the schema says", () => {
    expect(begin(SCHEMA)).toEqual({ limit: 5 });
  });

  it("gives null for what may be null and was left empty", () => {
    expect(withNulls(SCHEMA, { airport: "EWR" })).toEqual({ airport: "EWR", note: null });
  });
});

describe("a secret", () => {
  it("conceals what is only written", () => {
    const schema = { properties: { key: { type: "string", writeOnly: true }, name: { type: "string" } } };
    expect(concealed(schema)).toEqual({
      properties: { key: { type: "string", writeOnly: true, format: "password" }, name: { type: "string" } },
    });
  });
});

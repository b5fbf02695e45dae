import { describe, expect, it } from "vitest";
import { inPath, keyAfter, Problem } from "./client";

describe("the key of an action", () => {
  it("stays where it may have been done, and is a new one where it was refused", () => {
    for (const status of [0, 500, 503]) expect(keyAfter("k", new Problem(status, "x", "x"))).toBe("k");
    expect(keyAfter("k", new Error("broken"))).toBe("k");
    for (const status of [403, 409, 422]) expect(keyAfter("k", new Problem(status, "x", "x"))).not.toBe("k");
  });
});

it("a name in a path keeps its slashes and nothing else", () => {
  expect(inPath("weather/EWR?#%")).toBe("weather/EWR%3F%23%25");
});

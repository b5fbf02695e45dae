import { describe, expect, it } from "vitest";
import { keyOf, split, suggest, valuesOf, withKey, without, word } from "./filter";

describe("the words of a filter", () => {
  it("keeps quotation marks together", () => {
    expect(split('task:a "two words" error:"no \\" end" -kind:sync')).toEqual([
      "task:a",
      '"two words"',
      'error:"no \\" end"',
      "-kind:sync",
    ]);
  });

  it("survives a mark that is not closed yet", () => {
    expect(split('task:a "half')).toEqual(["task:a", '"half']);
  });

  it("replaces a key and leaves the rest", () => {
    expect(withKey("status:failed task:a status:partial", "status", ["status:running"])).toBe("task:a status:running");
    expect(withKey("-status:failed task:a", "status", [])).toBe("-status:failed task:a");
  });

  it("takes away one of two like words", () => {
    expect(without("a b a", "a")).toBe("b a");
  });

  it("reads values and quotes them again", () => {
    expect(valuesOf('source:"a b" source:c', "source")).toEqual(["a b", "c"]);
    expect(word("source", 'a "b"')).toBe('source:"a \\"b\\""');
    expect(keyOf("-args.airport:EWR")).toBe("args.airport");
    expect(keyOf('"a:b"')).toBeNull();
  });

  it("suggests keys, then their values", () => {
    expect(suggest("st", {})[0]?.text).toBe("status:");
    expect(suggest("status:fa", {}).map((one) => one.text)).toEqual(["status:failed"]);
    expect(suggest("-task:w", { task: ["weather", "other"] }).map((one) => one.text)).toEqual(["-task:weather"]);
  });
});

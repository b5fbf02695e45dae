import { describe, expect, it } from "vitest";
import { area, beside, edges, monthOf, shown, timeOf, walked } from "./grid";

describe("the grid", () => {
  const range = area({ row: 2, column: 5 }, { row: 1, column: 3 });

  it("has a range from any two corners", () => {
    expect(range).toEqual({ top: 1, bottom: 2, left: 3, right: 5 });
    expect(edges({ row: 1, column: 3 }, range)).toBe("in e-t e-l");
    expect(edges({ row: 2, column: 4 }, range)).toBe("in e-b");
    expect(edges({ row: 0, column: 4 }, range)).toBe("");
  });

  it("is walked by keys and not left", () => {
    expect(walked({ row: 0, column: 0 }, "ArrowUp", 3, 12)).toEqual({ row: 0, column: 0 });
    expect(walked({ row: 0, column: 11 }, "ArrowRight", 3, 12)).toEqual({ row: 0, column: 11 });
    expect(walked({ row: 1, column: 4 }, "End", 3, 12)).toEqual({ row: 1, column: 11 });
    expect(walked({ row: 1, column: 4 }, "a", 3, 12)).toBeNull();
  });

  it("zooms into a year and a month", () => {
    expect(shown("year", "2013")).toEqual({});
    expect(shown("month", "2013-02")).toEqual({ first: "2013", last: "2013" });
    expect(shown("day", "2013-02-12")).toEqual({ first: "2013-02", last: "2013-02" });
    expect(beside("day", "2013-01", -1)).toBe("2012-12");
    expect(beside("month", "2013", 1)).toBe("2014");
    expect(beside("month", "9999", 1)).toBe("9999");
    expect(beside("day", "0001-01", -1)).toBe("0001-01");
  });
});

describe("the place of an address", () => {
  it("is a year or a month, or nothing", () => {
    expect(timeOf("2013")).toBe("2013");
    expect(timeOf("2013-12")).toBe("2013-12");
    for (const text of ["undefined-01", "2013-13", "0000", "20131", "", undefined])
      expect(timeOf(text)).toBeUndefined();
  });

  it("leads from years to a month where one is known", () => {
    expect(monthOf("2013", "2013-04")).toBe("2013-04");
    expect(monthOf("", "2012")).toBe("2012-01");
    expect(monthOf("", undefined)).toBeUndefined();
    expect(monthOf("2013", undefined)).toBe("2013-01");
  });
});

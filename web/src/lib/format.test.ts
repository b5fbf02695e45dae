import { describe, expect, it } from "vitest";
import { en } from "../i18n/en";
import { ru } from "../i18n/ru";
import { filled } from "../i18n/text";
import { bytes, moment, number, period, span } from "./format";

const NOW = Date.UTC(2026, 2, 2, 14, 5, 18);

describe("lengths of time", () => {
  it.each([
    [0, "0 s"],
    [0.0008, "1 ms"],
    [0.85, "850 ms"],
    [1.44, "1.4 s"],
    [12.2, "12 s"],
    [59.7, "1 min"],
    [190, "3 min 10 s"],
    [3600, "1 h"],
    [47 * 3600, "1 d 23 h"],
    [40 * 86_400, "40 d"],
  ])("%d seconds are %s", (seconds, text) => {
    expect(span(seconds, "en")).toBe(text);
  });

  it("are Russian in Russian", () => {
    expect(span(1.44, "ru")).toBe("1,4 с");
  });

  it("are a dash where there is none", () => {
    expect(span(null, "en")).toBe("–");
  });
});

describe("times", () => {
  it("say the hour today, the day else", () => {
    expect(moment("2026-03-02T14:00:02Z", "en", NOW)).toBe("14:00:02");
    expect(moment("2026-03-01T09:14:00Z", "en", NOW)).toBe("1 Mar 09:14");
    expect(moment("2013-02-12T08:00:00Z", "en", NOW)).toBe("12 Feb 2013 08:00");
  });
});

describe("periods", () => {
  it("are written out where they are a month or a day", () => {
    expect(period("2013-02", "en")).toBe("February 2013");
    expect(period("2013-02", "ru")).toBe("февраль 2013");
    expect(period("2013-02-12", "en")).toBe("12 February 2013");
    expect(period("2013-W07", "en")).toBe("2013-W07");
  });
});

describe("texts", () => {
  it("choose the word that goes with the number", () => {
    const ru = "{n} {n|задание|задания|заданий}";
    expect([1, 3, 11, 25].map((n) => filled(ru, { n }, "ru"))).toEqual([
      "1 задание",
      "3 задания",
      "11 заданий",
      "25 заданий",
    ]);
    expect(filled("{n} {n|job|jobs} of {all}", { n: 1, all: 1512 }, "en")).toBe("1 job of 1,512");
    expect(filled("{n|The one is in|All {n} are in}", { n: 24 }, "en")).toBe("All 24 are in");
  });
});

describe("sizes and numbers", () => {
  it("are told in their locale", () => {
    expect(bytes(241_000, "en")).toBe("241 kB");
    expect(number(1512, "en")).toBe("1,512");
    expect(number(1512.5, "ru", 1)).toBe("1 512,5".replace(" ", "\u00a0"));
  });
});

describe("every text", () => {
  const texts = [...Object.entries(en), ...Object.entries(ru)];
  it.each([1, 2, 5])("is filled in whole for %d", (n) => {
    const values = new Proxy({}, { get: () => n }) as Record<string, number>;
    for (const lang of ["en", "ru"] as const)
      expect(texts.filter(([, text]) => /[{}|]/.test(filled(text, values, lang)))).toEqual([]);
  });
});

import { expect, test } from "vitest";
import { isExact, numberOf, parse, parseTyped, rounded, shown, stringify, wholeOf } from "./exact";

const LARGEST = "9223372036854775807"; // 2^63 − 1
const GREAT = `1${"0".repeat(30)}`; // 10^30

test.each([
  LARGEST,
  GREAT,
  `-${LARGEST}`,
  "1970670598291982290",
  "9007199254740993",
  "0.1000000000000000055511151231257827",
  "1.0",
  "1.10",
  "1e2",
  "-0.0",
  '"1.10"',
  '"1970670598291982290"',
])("%s among arguments is written as it was read", (text) => {
  const body = `{"arguments":{"a":${text},"b":[${text},{"c":${text}}]}}`;
  expect(stringify(parse(body))).toBe(body);
});

test("a number that a double keeps is a number, one that it would change is exact and shown as it is written", () => {
  const found = parse(`{"seconds":1.0,"rows":12,"id":${LARGEST},"text":"${LARGEST} \\" 1e400"}`) as Record<
    string,
    unknown
  >;
  expect([found.seconds, found.rows, found.text]).toEqual([1, 12, `${LARGEST} " 1e400`]);
  expect([isExact(found.id), shown(found.id), rounded(found.id)]).toEqual([true, LARGEST, 2 ** 63]);
  expect(stringify(found)).toContain(`"id":${LARGEST}`);
});

test("what no double can come near is refused, whole numbers of any length are not", () => {
  expect(() => parse('{"args":{"a":1e400}}')).toThrow(SyntaxError);
  expect(() => parseTyped('{"a":-1e400}')).toThrow(SyntaxError);
  expect(numberOf("1e400")).toBeUndefined();
  expect(shown(wholeOf("9".repeat(400)))).toBe("9".repeat(400));
});

test("what is typed into a field is a number as it is typed", () => {
  expect(numberOf("12")).toBe(12);
  expect(numberOf(" +12 ")).toBe(12);
  expect(shown(numberOf(LARGEST))).toBe(LARGEST);
  expect(shown(numberOf("1.50"))).toBe("1.50");
  expect(shown(wholeOf("1e30"))).toBe(GREAT);
  expect(wholeOf("1.5e3")).toBe(1500);
  expect([numberOf("twelve"), numberOf(""), numberOf("0x10"), numberOf("1_000")]).toEqual(Array(4).fill(undefined));
});

test("typed JSON keeps its numbers, and what is no JSON is refused", () => {
  expect(stringify(parseTyped(`{"a": ${GREAT}, "b": 2.0}`))).toBe(`{"a":${GREAT},"b":2.0}`);
  expect(() => parseTyped("{a: 1}")).toThrow(SyntaxError);
  expect(() => parseTyped('{"a": 01}')).toThrow(SyntaxError);
  expect(() => parseTyped('{"a": 1}, "b": {"c": 2}')).toThrow(SyntaxError);
});

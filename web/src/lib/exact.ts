/*
 * JSON whose numbers pass through the browser as they are written. A browser's numbers are doubles: 1970670598291982290
 * would become …300, 10^30 a float, 1.0 an integer. Such a number is kept as a text behind a mark that nobody else can
 * write (invisible, and another one in each page), and is written as the number that it was. Pure.
 */

const LETTERS = "\u2061\u2062\u2063\u2064"; // no width, no glyph
const MARK = Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) => LETTERS[byte % 4]).join("");
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const WRITTEN = new RegExp(`"${MARK}([^"]*)"`, "g");
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const RISKY = /\d{16}|\d\.\d*\d{13}|\d[eE][+-]?\d/;
const GIVEN = new Set(["arguments", "args"]); // what tasks are given keeps even how a number is written
const HAS_GIVEN = /"(?:arguments|args)":/;

export const isExact = (value: unknown): value is string => typeof value === "string" && value.startsWith(MARK);

/** A number as people read it; any other value as it is. */
export const shown = <T>(value: T): T | string => (isExact(value) ? value.slice(MARK.length) : value);

/** As a double, for comparing; it may be rounded. */
export const rounded = (value: unknown): unknown => (isExact(value) ? Number(shown(value)) : value);

/**
 * The number that a text says: a plain one where the browser keeps it, else an exact one; undefined where the text is
 * no number, or one that no double can come near (1e400).
 */
export function numberOf(text: string): number | string | undefined {
  const written = text.trim().replace(/^\+/, "");
  if (!NUMBER.test(written)) return undefined;
  const found = Number(written);
  if (!Number.isFinite(found) && !/^-?\d+$/.test(written)) return undefined;
  return String(found) === written ? found : MARK + written;
}

/** Whole numbers without an exponent, as JSON Schema's integers are written: 1e30 is a one and thirty zeros. */
export function wholeOf(text: string): number | string | undefined {
  const found = numberOf(text);
  const parts = isExact(found) ? /^(-?)(\d+)(?:\.(\d+))?[eE]\+?(\d+)$/.exec(shown(found)) : null;
  if (!parts) return found;
  const [, sign, whole, part = "", power] = parts;
  if (part.length > Number(power)) return found;
  return numberOf(`${sign}${`${whole}${part.padEnd(Number(power), "0")}`.replace(/^0+(?=\d)/, "")}`);
}

/** Read JSON. Raises: SyntaxError for what is none, and for a number that no double can come near. */
export function parse(text: string): unknown {
  const strict = HAS_GIVEN.test(text);
  if (!strict && !RISKY.test(text)) return JSON.parse(text);
  let marked = false;
  const safe = text.replace(TOKENS, (token) => {
    if (token.startsWith('"')) return token;
    const found = numberOf(token);
    if (found === undefined) {
      if (NUMBER.test(token)) throw new SyntaxError(`${token.slice(0, 40)} is too large for a number`);
      return token; // JSON.parse says what is wrong with it
    }
    if (typeof found === "number") return token;
    marked = true;
    return JSON.stringify(found);
  });
  const value: unknown = JSON.parse(safe);
  return marked ? settled(value, false) : value;
}

/** Read what a person typed as JSON: each number is kept as it is written. */
export function parseTyped(text: string): unknown {
  JSON.parse(text); // refuses what is no JSON by itself
  return (parse(`{"args":${text}}`) as { args: unknown }).args;
}

/** Write JSON; exact numbers are written as the numbers that they are. */
export function stringify(value: unknown, space?: number): string {
  const text = JSON.stringify(value, null, space);
  return text?.replace(WRITTEN, "$1");
}

/** Only what a double would change stays exact, but for what tasks are given. */
function settled(value: unknown, given: boolean): unknown {
  if (isExact(value)) return given || isChanged(shown(value)) ? value : Number(shown(value));
  if (Array.isArray(value)) return value.map((one) => settled(one, given));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, settled(one, given || GIVEN.has(key))] as const);
  return Object.fromEntries(entries);
}

/** Whether a double is another number than what is written. */
function isChanged(written: string): boolean {
  return digits(String(Number(written))) !== digits(written);
}

/** A decimal number by its digits and the place of its point, so that 1.50 and 15e-1 are the same. */
function digits(written: string): string {
  const [, sign, whole, part = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(written) ?? [];
  const all = `${whole}${part}`.replace(/^0+/, "");
  const bare = all.replace(/0+$/, "");
  return bare ? `${sign}${bare}e${Number(power) - part.length + all.length - bare.length}` : "0";
}

/* The words of a filter, as far as the page needs them: split, joined, completed. What they mean is the server's. */

export interface Suggestion {
  text: string;
  hint?: string;
}

export const KEYS = [
  "status",
  "task",
  "source",
  "period",
  "file",
  "after",
  "before",
  "ended",
  "error",
  "outcome",
  "kind",
  "queue",
  "label",
  "unit",
  "worker",
  "id",
  "rerun_of",
  "group",
  "celery",
  "args.",
] as const;

export const VALUES: Record<string, readonly string[]> = {
  status: [
    "active",
    "final",
    "pending",
    "running",
    "awaiting_input",
    "awaiting_mapping",
    "cancelling",
    "interrupted",
    "completed",
    "partial",
    "failed",
    "cancelled",
  ],
  outcome: ["success", "partial", "error", "none"],
  after: ["30m", "2h", "1d", "2d", "1w"],
  before: ["30m", "2h", "1d", "2d", "1w"],
  ended: ["30m", "2h", "1d", "2d", "1w"],
};

const WORD = /-?(?:[A-Za-z_][^\s:"]*:)?(?:"(?:\\.|[^"\\])*"?|[^\s"]+)|"/g;

/** The words as they stand, quotation marks and all. */
export function split(text: string): string[] {
  return text.match(WORD) ?? [];
}

export function join(words: readonly string[]): string {
  return words.filter((word) => word !== "").join(" ");
}

export function quoted(value: string): string {
  return /[\s"]/.test(value) || value === "" ? `"${value.replace(/[\\"]/g, "\\$&")}"` : value;
}

export function word(key: string, value: string): string {
  return `${key}:${quoted(value)}`;
}

export function keyOf(text: string): string | null {
  const found = /^(-?)([A-Za-z_][^\s:"]*):/.exec(text);
  return found ? found[2]! : null;
}

/** The filter with all words of a key replaced by these. */
export function withKey(text: string, key: string, words: readonly string[]): string {
  return join([...split(text).filter((one) => keyOf(one) !== key || one.startsWith("-")), ...words]);
}

export function without(text: string, gone: string): string {
  const words = split(text);
  const place = words.indexOf(gone);
  return join(words.filter((_, index) => index !== place));
}

/** The values that are asked of a key, without quotation marks; words with a minus do not count. */
export function valuesOf(text: string, key: string): string[] {
  return split(text)
    .filter((one) => keyOf(one) === key && !one.startsWith("-"))
    .map((one) => one.slice(key.length + 1).replace(/^"|"$/g, ""));
}

/** What the word that is being typed may become; `known` are values from the server (tasks, sources). */
export function suggest(typed: string, known: Record<string, readonly string[]>): Suggestion[] {
  const minus = typed.startsWith("-") ? "-" : "";
  const text = typed.slice(minus.length);
  const colon = text.indexOf(":");
  if (colon < 0) {
    const begins = text.toLowerCase();
    return KEYS.filter((key) => key.startsWith(begins)).map((key) => ({
      text: `${minus}${key}${key.endsWith(".") ? "" : ":"}`,
      hint: key,
    }));
  }
  const key = text.slice(0, colon);
  const begins = text
    .slice(colon + 1)
    .replace(/^"/, "")
    .toLowerCase();
  const values = known[key] ?? VALUES[key] ?? [];
  return values
    .filter((value) => value.toLowerCase().includes(begins))
    .slice(0, 12)
    .map((value) => ({ text: `${minus}${word(key, value)}` }));
}

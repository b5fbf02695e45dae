/* A log in this page: pieces in order, no piece twice, bounded. Pure. */

export interface LogRecord {
  seq: number;
  at: string | null;
  level: string | null;
  text: string;
}

export const MOST = 60_000; // a log of 1 MB in lines of 17 characters

/** What has come, with what was there; a piece that came again replaces the old one (the last piece may have grown). */
export function joined(old: readonly LogRecord[], fresh: readonly LogRecord[]): LogRecord[] {
  if (fresh.length === 0) return [...old];
  const again = new Set(fresh.map((record) => record.seq));
  const kept = old.filter((record) => !again.has(record.seq));
  const first = fresh[0]!.seq;
  const before = kept.filter((record) => record.seq < first);
  const after = kept.filter((record) => record.seq > first);
  return [...before, ...fresh, ...after].slice(-MOST);
}

const ESCAPE = new RegExp(
  `${String.fromCharCode(27)}(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^${String.fromCharCode(7)}]*${String.fromCharCode(7)})`,
  "g",
);

/** The text without the colours that a terminal would draw. */
export function uncoloured(text: string): string {
  return text.replace(ESCAPE, "");
}

const HEAD = /^\S+Z [A-Z]+ /;

/** The text without its time and level, which stand in columns of their own. */
export function body(record: LogRecord): string {
  return uncoloured(record.at ? record.text.replace(HEAD, "") : record.text);
}

/** Where the first error stands; -1 where there is none. */
export function firstError(records: readonly LogRecord[]): number {
  return records.findIndex((record) => record.level === "ERROR" || record.level === "CRITICAL");
}

/** The text in parts, those that were searched for marked. */
export function marked(text: string, wanted: string): { text: string; hit: boolean }[] {
  if (!wanted) return [{ text, hit: false }];
  const low = text.toLowerCase();
  const find = wanted.toLowerCase();
  const parts: { text: string; hit: boolean }[] = [];
  let at = 0;
  for (let hit = low.indexOf(find); hit >= 0; hit = low.indexOf(find, at)) {
    if (hit > at) parts.push({ text: text.slice(at, hit), hit: false });
    parts.push({ text: text.slice(hit, hit + find.length), hit: true });
    at = hit + find.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), hit: false });
  return parts;
}

/* Numbers, times and sizes as people of each language read them. All times are UTC. */

export type Lang = "en" | "ru";

const LOCALES: Record<Lang, string> = { en: "en-GB", ru: "ru-RU" };
const UNITS: Record<Lang, Record<string, string>> = {
  en: { ms: "ms", s: "s", min: "min", h: "h", d: "d", B: "B", kB: "kB", MB: "MB", GB: "GB" },
  ru: { ms: "мс", s: "с", min: "мин", h: "ч", d: "д", B: "Б", kB: "кБ", MB: "МБ", GB: "ГБ" },
};
const made = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

function numberFormat(lang: Lang, digits: number): Intl.NumberFormat {
  const key = `n${lang}${digits}`;
  let found = made.get(key) as Intl.NumberFormat | undefined;
  if (!found) {
    found = new Intl.NumberFormat(lang === "en" ? "en-US" : LOCALES.ru, { maximumFractionDigits: digits });
    made.set(key, found);
  }
  return found;
}

function dateFormat(lang: Lang, key: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  let found = made.get(`d${lang}${key}`) as Intl.DateTimeFormat | undefined;
  if (!found) {
    found = new Intl.DateTimeFormat(LOCALES[lang], { timeZone: "UTC", hourCycle: "h23", ...options });
    made.set(`d${lang}${key}`, found);
  }
  return found;
}

export function number(value: number | null | undefined, lang: Lang, digits = 0): string {
  return value === null || value === undefined ? "–" : numberFormat(lang, digits).format(value);
}

/** `1,024` or `more than 10,000`, as a count that stops somewhere is told. */
export function count(value: number, exact: boolean, lang: Lang): string {
  return exact ? number(value, lang) : `${number(value, lang)}+`;
}

/** A length of time in at most two units: `850 ms`, `12 s`, `3 min 10 s`, `1 d 23 h`. */
export function span(seconds: number | null | undefined, lang: Lang): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const unit = UNITS[lang];
  const s = Math.max(0, seconds);
  if (s === 0) return `0 ${unit.s}`;
  if (s < 0.9995) return `${number(Math.max(1, s * 1000), lang)} ${unit.ms}`;
  if (s < 9.95) return `${number(s, lang, 1)} ${unit.s}`;
  if (s < 59.5) return `${number(s, lang)} ${unit.s}`;
  const pairs: [number, string, number, string][] = [
    [60, "min", 1, "s"],
    [3600, "h", 60, "min"],
    [86_400, "d", 3600, "h"],
  ];
  const [big, bigName, small, smallName] = pairs.filter(([size]) => Math.round(s) >= size).at(-1)!;
  const whole = Math.round(s / small);
  const per = big / small;
  const rest = whole % per;
  const head = `${number(Math.floor(whole / per), lang)} ${unit[bigName]}`;
  return rest === 0 || s >= 14 * 86_400 ? head : `${head} ${rest} ${unit[smallName]}`;
}

export function bytes(size: number | null | undefined, lang: Lang): string {
  if (size === null || size === undefined) return "–";
  const names = ["B", "kB", "MB", "GB"];
  let value = size;
  let place = 0;
  while (value >= 999.5 && place < names.length - 1) {
    value /= 1000;
    place += 1;
  }
  return `${number(value, lang, place > 0 && value < 9.95 ? 1 : 0)} ${UNITS[lang][names[place]!]}`;
}

export function date(at: string | number | Date, lang: Lang): string {
  return dateFormat(lang, "date", { day: "numeric", month: "short", year: "numeric" }).format(new Date(at));
}

export function clock(at: string | number | Date, lang: Lang): string {
  return dateFormat(lang, "clock", { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(new Date(at));
}

/** `14:05:18` today, `2 Mar 14:05` this year, `2 Mar 2013 14:05` else. */
export function moment(at: string | number | null | undefined, lang: Lang, now: number): string {
  if (at === null || at === undefined) return "–";
  const then = new Date(at);
  const today = new Date(now);
  if (then.toISOString().slice(0, 10) === today.toISOString().slice(0, 10)) return clock(then, lang);
  const day: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
  if (then.getUTCFullYear() !== today.getUTCFullYear()) day.year = "numeric";
  const hour = dateFormat(lang, "hm", { hour: "2-digit", minute: "2-digit" }).format(then);
  return `${dateFormat(lang, `day${day.year ?? ""}`, day).format(then)} ${hour}`;
}

/** The whole of a time, for a title: `2 March 2026 14:05:18 UTC`. */
export function full(at: string | number, lang: Lang): string {
  const day = dateFormat(lang, "full", { day: "numeric", month: "long", year: "numeric" }).format(new Date(at));
  return `${day} ${clock(at, lang)} UTC`;
}

const MONTH = /^(\d{4})-(\d{2})$/;
const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;

/** A period for a heading: `February 2013`, `12 February 2013`; any other as it is written. */
export function period(text: string, lang: Lang): string {
  const day = DAY.exec(text);
  const month = day ? null : MONTH.exec(text);
  if (!day && !month) return text;
  const at = new Date(`${text}${month ? "-01" : ""}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return text;
  if (day)
    return dateFormat(lang, "pday", { day: "numeric", month: "long", year: "numeric" })
      .format(at)
      .replace(/\s?г\.$/, "");
  const name = dateFormat(lang, "pmonth", { month: "long" }).format(at);
  return `${name} ${month![1]}`;
}

export function monthShort(index: number, lang: Lang): string {
  return dateFormat(lang, "mon", { month: "short" })
    .format(new Date(Date.UTC(2013, index, 15)))
    .replace(".", "");
}

/** The last eight characters of an id, as the terminal shows it. */
export function tail(id: string): string {
  return id.slice(-8);
}

export function seconds(from: string | null | undefined, to: string | number | null | undefined): number | null {
  if (!from || to === null || to === undefined) return null;
  return Math.max(0, (new Date(to).getTime() - new Date(from).getTime()) / 1000);
}

/* Sentences that the server writes, known by their form, told in the language of the reader. Pure. */
import { filled, type Values } from "../i18n/text";
import type { Lang } from "./format";
import { isStatus, STATUSES } from "./words";

export type Forms = Record<string, string>;
type Telling = (text: string) => string;

const NUMBER = /^\d[\d,]*(\.\d+)?$/;
const HOLE = /\\\{(\w+)\\\}/g;

/** What tells a sentence: each part between semicolons by its form, and what stands in its holes likewise. */
export function teller(forms: Forms, lang: Lang, status: Telling): Telling {
  const patterns = Object.entries(forms)
    .filter(([form]) => form.includes("{"))
    .map(([form, text]) => ({ text, pattern: new RegExp(`^${escaped(form).replace(HOLE, hole)}$`, "s") }));
  const one = (sentence: string): string | null => {
    const known = forms[sentence];
    if (known !== undefined) return known;
    for (const { text, pattern } of patterns) {
      const holes = pattern.exec(sentence)?.groups;
      if (holes) return filled(text, valuesOf(holes), lang);
    }
    return null;
  };
  const tell: Telling = (text) =>
    one(text) ??
    text
      .split("; ")
      .map((part) => one(part) ?? part)
      .join("; ");
  const valuesOf = (holes: Record<string, string>): Values =>
    Object.fromEntries(
      Object.entries(holes).map(([name, part]) => [
        name,
        name === "status" && isStatus(part)
          ? status(part)
          : NUMBER.test(part)
            ? Number(part.replaceAll(",", ""))
            : tell(part),
      ]),
    );
  return tell;
}

const hole = (_whole: string, name: string) => `(?<${name}>${name === "status" ? STATUSES.join("|") : ".+?"})`;
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

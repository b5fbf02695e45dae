/* Sentences that the server writes, known by their form, told in the language of the reader. Pure. */
import { filled, type Values } from "../i18n/text";
import type { Lang } from "./format";
import { STATUSES } from "./words";

export type Forms = Record<string, string>;
type Telling = (text: string) => string;

const NUMBER = /^\d[\d,]*(\.\d+)?$/;
const COUNTED = new Set(["n", "all", "failed"]); // other digits are names: of processes, say
const HOLE = /\\\{(\w+)\\\}/g;

/** What tells a sentence: each part between semicolons by its form, what stands in its holes likewise, or by `words`. */
export function teller(forms: Forms, lang: Lang, words: Record<string, Telling>): Telling {
  const patterns = Object.entries(forms)
    .filter(([form]) => form.includes("{"))
    .map(([form, text]) => ({ text, pattern: new RegExp(`^${escaped(form).replace(HOLE, hole)}$`, "s") }));
  const one = (sentence: string): string | null => {
    if (Object.hasOwn(forms, sentence)) return forms[sentence]!;
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
        words[name]
          ? words[name](part)
          : COUNTED.has(name) && NUMBER.test(part)
            ? Number(part.replaceAll(",", ""))
            : tell(part),
      ]),
    );
  return tell;
}

/** Holes in which only these words can stand. */
const ONLY: Record<string, readonly string[]> = { status: STATUSES, cause: ["cancel", "timeout", "stall"] };
const hole = (_whole: string, name: string) => `(?<${name}>${ONLY[name]?.join("|") ?? ".+?"})`;
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/* How a text is filled in: `{n}` is a value, `{n|job|{n} jobs}` the words that go with a number. Pure. */
import { type Lang, number } from "../lib/format";

export type Values = Record<string, string | number | null | undefined>;

const rules: Record<Lang, Intl.PluralRules> = { en: new Intl.PluralRules("en"), ru: new Intl.PluralRules("ru") };
const ORDER: Record<Lang, Intl.LDMLPluralRule[]> = { en: ["one", "other"], ru: ["one", "few", "many"] };

function plural(value: number, forms: string[], lang: Lang): string {
  const place = ORDER[lang].indexOf(rules[lang].select(value));
  return forms[place] ?? forms.at(-1)!;
}

export function filled(text: string, values: Values, lang: Lang): string {
  return text.replace(/\{(\w+)(?:\|((?:[^{}]|\{\w+\})*))?\}/g, (_whole, name: string, forms?: string) => {
    const value = values[name];
    if (forms !== undefined) return filled(plural(Number(value), forms.split("|"), lang), values, lang);
    return typeof value === "number" ? number(value, lang, 1) : (value ?? "");
  });
}

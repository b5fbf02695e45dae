/* The language in use, kept in this browser; texts of one language are loaded when it is chosen. */
import { useSyncExternalStore } from "react";
import * as format from "../lib/format";
import { errorText } from "../lib/words";
import type { en } from "./en";
import { filled, type Values } from "./text";

export type Lang = format.Lang;
export type Key = keyof typeof en;
export type Texts = Record<Key, string>;

const KEPT = "jobtrail.lang";
const loaders: Record<Lang, () => Promise<Texts>> = {
  en: async () => (await import("./en")).en,
  ru: async () => (await import("./ru")).ru,
};
const listeners = new Set<() => void>();
let lang: Lang = "en";
let texts: Texts;
let spoken = makeSpeech();

export function wanted(): Lang {
  const asked = new URLSearchParams(window.location.search).get("lang") ?? kept();
  if (asked === "en" || asked === "ru") return asked;
  return navigator.language.toLowerCase().startsWith("ru") ? "ru" : "en";
}

function kept(): string | null {
  try {
    return window.localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

export async function speak(next: Lang): Promise<void> {
  texts = await loaders[next]();
  lang = next;
  spoken = makeSpeech();
  document.documentElement.lang = next;
  try {
    window.localStorage.setItem(KEPT, next);
  } catch {
    /* a browser that keeps nothing still shows the page */
  }
  for (const listener of listeners) listener();
}

export function t(key: Key, values: Values = {}): string {
  return filled(texts?.[key] ?? key, values, lang);
}

/** A text for a word that the server gave, where there is one; else the word itself. */
export function tWord(prefix: string, word: string, values: Values = {}): string {
  const key = `${prefix}.${word.replaceAll(" ", "_")}` as Key;
  return texts?.[key] === undefined ? word : t(key, values);
}

function makeSpeech() {
  const now = lang;
  return {
    lang: now,
    t,
    tWord,
    /** An error without the modules of its type. */
    error: errorText,
    num: (value: number | null | undefined, digits = 0) => format.number(value, now, digits),
    count: (value: number, exact: boolean) => format.count(value, exact, now),
    span: (seconds: number | null | undefined) => format.span(seconds, now),
    bytes: (size: number | null | undefined) => format.bytes(size, now),
    moment: (at: string | number | null | undefined, current = Date.now()) => format.moment(at, now, current),
    full: (at: string | number) => format.full(at, now),
    clock: (at: string | number) => format.clock(at, now),
    period: (text: string) => format.period(text, now),
  };
}

export type Speech = ReturnType<typeof makeSpeech>;

/** Texts and formats of the language in use; a component that calls it is drawn again when that changes. */
export function useSpeech(): Speech {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => spoken,
  );
}

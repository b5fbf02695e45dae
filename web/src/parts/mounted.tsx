/* The module of a plug-in, mounted into an element of its own with a host that knows the console. */
import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { getPlain, Problem, send } from "../api/client";
import { listen } from "../api/live";
import type { PluginPage } from "../api/types";
import { type Lang, useSpeech } from "../i18n";
import * as format from "../lib/format";
import { ProblemNote } from "./problem";

type Unmount = () => void;
type Part = "mount" | "strip";
type Module = Partial<Record<Part, (element: HTMLElement, host: Host) => unknown>>;

/** What a module may use of the console. */
export interface Host {
  get(path: string): Promise<unknown>;
  post(path: string, body?: unknown): Promise<unknown>;
  del(path: string): Promise<unknown>;
  subscribe(topic: string, callback: (value: unknown) => void): Unmount;
  language: Lang;
  text(en: string, ru: string): string;
  formatTime(at: string): string;
  formatAge(seconds: number): string;
  query(): Record<string, string>;
  go(path: string): void;
}

/** A path of the API, written with or without what stands before it. */
const below = (path: string) => path.replace(/^\/?(api\/)?/, "");

function hostOf(lang: Lang, search: Record<string, string>, go: (path: string) => void, ends: Set<Unmount>): Host {
  return {
    get: (path) => getPlain(below(path)),
    post: (path, body = {}) => send("POST", below(path), body, undefined, JSON.parse),
    del: (path) => send("DELETE", below(path), undefined, undefined, JSON.parse),
    subscribe(topic, callback) {
      const [name = "", ...rest] = topic.split(":");
      const stop = listen(name, rest.length > 0 ? { parameter: rest.join(":") } : {}, callback);
      const once = () => {
        if (ends.delete(once)) stop();
      };
      ends.add(once);
      return once;
    },
    language: lang,
    text: (en, ru) => (lang === "ru" ? ru : en),
    formatTime: (at) => format.moment(at, lang, Date.now()),
    formatAge: (seconds) => format.span(seconds, lang),
    query: () => ({ ...search }),
    go,
  };
}

/** The module and what it exports; a module that could not be loaded is asked for under another address, for browsers remember. */
async function load(page: PluginPage, part: Part, attempt: number) {
  const place = new URL(page.module, document.baseURI);
  if (attempt > 0) place.searchParams.set("again", String(attempt));
  const found = ((await import(/* @vite-ignore */ place.href)) as Module)[part];
  if (typeof found !== "function") throw new Error(`${page.module}: export function ${part}`);
  return found;
}

const NOTHING: Record<string, string> = {};

export function Mounted({
  page,
  part,
  search = NOTHING,
}: {
  page: PluginPage;
  part: Part;
  search?: Record<string, string>;
}) {
  const { lang, t } = useSpeech();
  const router = useRouter();
  const place = useRef<HTMLDivElement>(null);
  const [attempt, setAttempt] = useState(0);
  const [broken, setBroken] = useState<string | null>(null);
  const words = JSON.stringify(search);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the module's address and the words say when it is another page
  useEffect(() => {
    const element = document.createElement("div");
    element.className = "plugin-page";
    place.current?.append(element);
    const ends = new Set<Unmount>();
    const host = hostOf(lang, search, (path) => router.history.push(path), ends);
    let on = true;
    let unmount: unknown;
    const end = () => {
      try {
        if (typeof unmount === "function") unmount();
      } catch (error) {
        reportError(error);
      }
      for (const stop of [...ends]) stop();
      element.remove();
    };
    const begin = async () => {
      const draw = await load(page, part, attempt);
      if (on) unmount = await draw(element, host);
      if (!on) end();
    };
    setBroken(null);
    begin().catch((error) => on && setBroken(error instanceof Error ? error.message : String(error)));
    return () => {
      on = false;
      end();
    };
  }, [page.module, part, lang, words, attempt]);
  return (
    <>
      {broken !== null && (
        <ProblemNote
          problem={new Problem(500, "plugin", t("plugin.broken", { plugin: page.plugin, why: broken }))}
          onRetry={() => setAttempt(attempt + 1)}
        />
      )}
      <div ref={place} />
    </>
  );
}

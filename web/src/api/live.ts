/* News from the server: one socket for this page, or server-sent events where none comes through. What it says goes into what is shown, or has it asked for again. */
import type { QueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { parse } from "../lib/exact";
import { value } from "../lib/store";
import { applied } from "./apply";
import { address } from "./client";

export interface LiveState {
  state: "starting" | "live" | "held" | "lost";
  waiting: number;
  since: number | null;
}

export interface News {
  type: string;
  id: string;
  parts?: Record<string, unknown>;
  gone?: string[];
  order?: string[];
}

type Words = Record<string, string | number>;

const SOON = 3000; // ms between looks while there is no news
const SELDOM = 15_000; // and while there is
const PATIENCE = 45_000;
const LOGGED_OUT = 4401;
const REFUSALS = 2; // sockets that are never greeted, until server-sent events are taken instead
const SOCKET_AGAIN = 60_000; // ms between two tries of a socket while events come
const STREAM_AGAIN = 3000;
const MOST_STREAMS = 3; // a browser has six connections to a server, and pages ask too

const live = value<LiveState>({ state: "starting", waiting: 0, since: null });
export const pace = value<number>(SOON);
export const begun = value(false);

const topics = new Map<string, { topic: string; words: Words; watchers: number }>();
const bells = new Map<string, number>();
const hearers = new Set<() => void>();
const listeners = new Map<string, Set<(value: unknown) => void>>(); // to topics of plug-ins
const values = new Map<string, unknown>();
let held: number | null = null;
let socket: WebSocket | null = null;
let client: QueryClient | null = null;
let tries = 0;
let heard = 0;
let missed = false;
let greeting = false; // of the socket that was made last
let refused = 0;
const streams = new Map<string, EventSource>();

export const useLive = () => live.use();

/** Rows that stand still while one selects: so many changes wait; null lets go. */
export function hold(waiting: number | null): void {
  held = waiting;
  const now = live.get();
  if (now.state === "live" || now.state === "held")
    live.set({ ...now, state: waiting === null ? "live" : "held", waiting: waiting ?? 0 });
}

function say(words: Record<string, unknown>): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(words));
}

function subscribe(id: string): void {
  const found = topics.get(id);
  if (refused >= REFUSALS) stream(id);
  if (found) say({ type: "subscribe", id, topic: found.topic, ...found.words });
}

const idOf = (topic: string, words: Words) => `${topic} ${JSON.stringify(words)}`;

/** Watch a topic until the returned function is called. */
function join(id: string, topic: string, words: Words): () => void {
  const found = topics.get(id);
  if (found) found.watchers += 1;
  else {
    topics.set(id, { topic, words, watchers: 1 });
    subscribe(id);
  }
  return () => {
    const mine = topics.get(id);
    if (!mine) return;
    mine.watchers -= 1;
    if (mine.watchers > 0) return;
    topics.delete(id);
    values.delete(id);
    unstream(id);
    say({ type: "unsubscribe", id });
  };
}

/** Watch a topic while the component is there; null watches nothing. */
export function useTopic(topic: string, words: Words | null): void {
  const id = words === null ? null : idOf(topic, words);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the id holds topic and words
  useEffect(() => (id === null || words === null ? undefined : join(id, topic, words)), [id]);
}

/** Hear the value of a plug-in's topic, at once where it is known, and whenever it has changed. */
export function listen(topic: string, words: Words, hear: (value: unknown) => void): () => void {
  const id = idOf(topic, words);
  const mine = listeners.get(id) ?? new Set();
  listeners.set(id, mine);
  mine.add(hear);
  const leave = join(id, topic, words);
  if (values.has(id)) tell(hear, values.get(id));
  return () => {
    mine.delete(hear);
    if (mine.size === 0 && listeners.get(id) === mine) listeners.delete(id);
    leave();
  };
}

/** An error of one who hears is that one's own. */
function tell(hear: (value: unknown) => void, told: unknown): void {
  try {
    hear(told);
  } catch (error) {
    reportError(error);
  }
}

/** The value of a plug-in's topic, with numbers as a browser reads them. */
function heardBy(id: string, text: string): boolean {
  const mine = listeners.get(id);
  if (!mine) return false;
  const parts = (JSON.parse(text) as News).parts;
  if (!parts || !("value" in parts)) return true;
  values.set(id, parts.value);
  for (const hear of [...mine]) tell(hear, parts.value);
  return true;
}

/** A number that rises when there is news of this name. */
export function useNews(name: string): number {
  return useSyncExternalStore(
    (hearer) => {
      hearers.add(hearer);
      return () => hearers.delete(hearer);
    },
    () => bells.get(name) ?? 0,
  );
}

function ring(name: string): void {
  bells.set(name, (bells.get(name) ?? 0) + 1);
  for (const hearer of hearers) hearer();
}

/** Connect, and connect again whenever the line is lost. */
export function begin(queries: QueryClient): void {
  if (client) return;
  client = queries;
  begun.set(true);
  connect();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !missed) return;
    missed = false;
    void client?.invalidateQueries();
  });
  window.setInterval(watch, 10_000);
}

function connect(): void {
  const place = new URL("api/live", document.baseURI);
  place.protocol = place.protocol === "https:" ? "wss:" : "ws:";
  place.search = `?lang=${document.documentElement.lang || "en"}`;
  place.hash = "";
  const made = new WebSocket(place);
  socket = made;
  greeting = false;
  made.onmessage = (event) => {
    heard = Date.now();
    const text = String(event.data);
    take(parse(text) as News, text);
  };
  made.onclose = (event) => {
    if (socket === made) lost(event.code);
  };
}

/** After a change of the language: what is shown is asked for again, and the news come in that language. */
export function renew(): void {
  void client?.invalidateQueries();
  socket?.close();
}

function take(news: News, text: string): void {
  if (news.type === "hello") greeted();
  if (news.type !== "snapshot" && news.type !== "change") return;
  const topic = topics.get(news.id);
  if (!topic || !client || heardBy(news.id, text)) return;
  if (document.hidden) {
    missed = true;
    return;
  }
  applied(client, topic.topic, topic.words, news, ring);
}

function greeted(): void {
  tries = 0;
  refused = 0;
  greeting = true;
  for (const id of [...streams.keys()]) unstream(id);
  current();
  for (const id of topics.keys()) subscribe(id);
}

/** News comes, by whatever way. */
function current(): void {
  const again = live.get().since !== null;
  live.set({ state: held === null ? "live" : "held", waiting: held ?? 0, since: null });
  pace.set(SELDOM);
  if (again) void client?.invalidateQueries();
}

/** What was seen last stays, and says of when it is. */
function lost(code: number): void {
  socket = null;
  refused = greeting ? 0 : refused + 1;
  if (code === LOGGED_OUT) void client?.invalidateQueries({ queryKey: ["me"] });
  if (refused >= REFUSALS) for (const id of topics.keys()) stream(id);
  if (!isStreaming()) silent();
  const soon = Math.min(5000, 500 * 2 ** tries) * (0.7 + Math.random() * 0.6);
  tries += 1;
  window.setTimeout(connect, isStreaming() ? SOCKET_AGAIN : soon);
}

function silent(): void {
  pace.set(SOON);
  const now = live.get();
  if (now.state !== "lost") live.set({ state: "lost", waiting: 0, since: heard || Date.now() });
}

const isStreaming = () => [...streams.values()].some((one) => one.readyState === EventSource.OPEN);

/** A topic as server-sent events, where no socket comes through; what is more than a few is asked for at its pace. */
function stream(id: string): void {
  const found = topics.get(id);
  if (!found || streams.has(id) || streams.size >= MOST_STREAMS) return;
  const made = new EventSource(address("live/events", { topic: found.topic, ...found.words }));
  streams.set(id, made);
  made.onopen = () => {
    heard = Date.now();
    current();
  };
  for (const type of ["snapshot", "change"])
    made.addEventListener(type, (event) => {
      heard = Date.now();
      const text = String((event as MessageEvent).data);
      take({ ...(parse(text) as News), type, id }, text);
    });
  made.onerror = () => {
    if (streams.get(id) !== made) return;
    if (!isStreaming() && socket?.readyState !== WebSocket.OPEN) silent();
    if (made.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    streams.delete(id);
    window.setTimeout(() => refused >= REFUSALS && stream(id), STREAM_AGAIN);
  };
}

function unstream(id: string): void {
  const found = streams.get(id);
  streams.delete(id);
  found?.close();
}

/** A line that is silent for long is dead, whatever the browser thinks of it. */
function watch(): void {
  if (!socket || socket.readyState !== WebSocket.OPEN) return;
  if (Date.now() - heard > PATIENCE) socket.close();
  else say({ type: "ping" });
}

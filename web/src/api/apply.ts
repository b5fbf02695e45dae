/* What a piece of news changes in what is shown: lines are replaced where they stand; what is more is asked for again. */
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { News } from "./live";
import type { JobLine, JobPage, JobWhole } from "./types";

const PAUSE = 400; // ms between two askings for the same
const waiting = new Map<string, number>();

export function applied(
  client: QueryClient,
  topic: string,
  words: Record<string, string | number>,
  news: News,
  ring: (name: string) => void,
): void {
  const parts = news.parts ?? {};
  switch (topic) {
    case "jobs":
      jobs(client, String(words.filter ?? ""), news);
      return;
    case "job":
      job(client, String(words.job), parts, news, ring);
      return;
    case "stats":
      merge(client, ["stats", {}], parts.stats);
      return;
    case "needs":
      merge(client, ["stats/needs", {}], parts.needs);
      return;
    case "workers":
      ask(client, ["workers"]);
      merge(client, ["queues", {}], parts.queues);
      return;
    default:
      if (news.type === "change") ask(client, [topic]);
  }
}

/** Rows stay where they are and change in place; the list is asked for again where its order is another. */
function jobs(client: QueryClient, q: string, news: News): void {
  const group = /^group:([0-9a-f-]{36})$/.exec(q)?.[1];
  if (group && news.type === "change") ask(client, [`groups/${group}`]);
  const key = ["jobs", "list", q];
  const parts = news.parts as Record<string, JobLine>;
  client.setQueryData<InfiniteData<JobPage>>(key, (old) => {
    if (!old) return old;
    const pages = old.pages.map((page) => ({ ...page, jobs: page.jobs.map((line) => parts[line.id] ?? line) }));
    return { ...old, pages };
  });
  const known = client.getQueryData<InfiniteData<JobPage>>(key)?.pages[0]?.jobs.map((line) => line.id);
  const order = news.order;
  if (
    news.gone?.length ||
    (order && known && order.slice(0, known.length).join() !== known.slice(0, order.length).join())
  )
    ask(client, key);
}

function job(
  client: QueryClient,
  id: string,
  parts: Record<string, unknown>,
  news: News,
  ring: (name: string) => void,
): void {
  const line = parts.job as JobLine | undefined;
  if (line) client.setQueryData<JobWhole>([`jobs/${id}`, {}], (old) => (old ? { ...old, ...line } : old));
  if (parts.version !== undefined && news.type === "change") {
    ask(client, [`jobs/${id}`]);
    ask(client, [`jobs/${id}/items`]);
  }
  if (Object.keys(parts).some((name) => name.startsWith("log:"))) ring(`log ${id}`);
}

function merge(client: QueryClient, key: unknown[], part: unknown): void {
  if (part === undefined) return;
  client.setQueryData<Record<string, unknown>>(key, (old) =>
    old ? { ...old, ...(part as Record<string, unknown>) } : old,
  );
}

/** Asked for at once, and for a while not again: whatever comes meanwhile is one asking more. */
function ask(client: QueryClient, key: unknown[]): void {
  const name = JSON.stringify(key);
  if (waiting.has(name)) {
    waiting.set(name, 1);
    return;
  }
  waiting.set(name, 0);
  void client.invalidateQueries({ queryKey: key });
  window.setTimeout(() => {
    const again = waiting.get(name) === 1;
    waiting.delete(name);
    if (again) ask(client, key);
  }, PAUSE);
}

/* What pages ask for, under the names by which live news makes it fresh again. */
import { keepPreviousData, type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { withKey } from "../lib/filter";
import { get, type Query } from "./client";
import { begun, pace } from "./live";
import type { Errors, JobCounts, JobPage, Me, Now, PluginPages } from "./types";

export const PAGE = 50; // jobs
export const HOURS = "3"; // of the charts, until somebody asks for more

const look = <T>(path: string, query: Query = {}) => ({
  queryKey: [path, query],
  queryFn: ({ signal }: { signal: AbortSignal }) => get<T>(path, query, signal),
});

const ME = {
  queryKey: ["me"],
  queryFn: ({ signal }: { signal: AbortSignal }) => get<Me>("me", {}, signal),
  staleTime: 60_000,
};

/** Jobs that match, the newest first, page after page. */
export const jobList = (q: string) => ({
  queryKey: ["jobs", "list", q],
  initialPageParam: null as string | null,
  queryFn: ({ pageParam, signal }: { pageParam: string | null; signal: AbortSignal }) =>
    get<JobPage>("jobs", { q, before: pageParam, limit: PAGE, count: pageParam === null }, signal),
  getNextPageParam: (page: JobPage) => page.next,
});

/** How many jobs are in each state, of those that match but for their state. */
export const jobCounts = (q: string) => {
  const rest = withKey(q, "status", []);
  return {
    queryKey: ["facets", rest],
    queryFn: ({ signal }: { signal: AbortSignal }) => get<JobCounts>("jobs/counts", { q: rest }, signal),
  };
};

/* Asked for while the page's file is on its way; the page then finds the answers, or waits for the same ones. */

export function askWhoIAm(client: QueryClient): void {
  void client.prefetchQuery(ME);
}

export function askForJobs(client: QueryClient, q: string): void {
  void client.prefetchInfiniteQuery(jobList(q));
  void client.prefetchQuery(jobCounts(q));
}

export function askForOverview(client: QueryClient): void {
  void client.prefetchQuery(look("stats"));
  void client.prefetchQuery(look("stats/needs"));
  void client.prefetchQuery(look("stats/series", { hours: HOURS }));
}

/** A look that is taken again while it is watched: at the pace of the news, and now and then in any case. */
export function useLook<T>(
  path: string,
  query: Query = {},
  options: { on?: boolean; keep?: boolean; every?: number } = {},
) {
  const steady = pace.use();
  return useQuery({
    ...look<T>(path, query),
    enabled: options.on ?? true,
    placeholderData: options.keep === false ? undefined : keepPreviousData,
    refetchInterval: options.every ?? steady,
  });
}

const ERROR_HOURS = 168; // as the page of errors begins
const PAGES_EVERY = 300_000; // ms: plug-ins come with a new start of the server

/** The pages of plug-ins that one may see. */
export function usePluginPages() {
  return useLook<PluginPages>("plugin-pages", {}, { every: PAGES_EVERY });
}

export function useMe() {
  return useQuery(ME);
}

export function useMay(role: "operator" | "admin"): boolean {
  const me = useMe();
  if (!me.data) return true; // nobody is told no before it is known; the server checks in any case
  const mine = me.data.role;
  return mine === "admin" || (role === "operator" && mine === "operator");
}

/** Resolves as soon as all that was asked for is answered; it waits two seconds at most. */
export function firstAnswers(client: QueryClient): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stop();
      window.clearTimeout(timer);
      resolve();
    };
    const stop = client.getQueryCache().subscribe(() => client.isFetching() === 0 && done());
    const timer = window.setTimeout(done, 2000);
  });
}

/** Numbers beside the names of pages; none where nothing waits. The page itself comes before them. */
export function useCounts(): { questions: number; errors: number } {
  const on = begun.use();
  const stats = useLook<Now>("stats", {}, { on });
  const errors = useLook<Errors>("errors", { hours: ERROR_HOURS, limit: 1, unhandled: true }, { on, every: 15_000 });
  return { questions: stats.data?.questions ?? 0, errors: errors.data?.open ?? 0 };
}

/** After an action everything that is on the page is looked at again. */
export function useFresh(): () => Promise<void> {
  const client = useQueryClient();
  return useCallback(() => client.invalidateQueries(), [client]);
}

/* What pages ask for, under the names by which live news makes it fresh again. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { get, type Query } from "./client";
import { pace } from "./live";
import type { Me, Now } from "./types";

/** A look that is taken again while it is watched: at the pace of the news, and now and then in any case. */
export function useLook<T>(
  path: string,
  query: Query = {},
  options: { on?: boolean; keep?: boolean; every?: number } = {},
) {
  const steady = pace.use();
  return useQuery({
    queryKey: [path, query],
    queryFn: ({ signal }) => get<T>(path, query, signal),
    enabled: options.on ?? true,
    placeholderData: options.keep === false ? undefined : keepPreviousData,
    refetchInterval: options.every ?? steady,
  });
}

export function useMe() {
  return useQuery({ queryKey: ["me"], queryFn: ({ signal }) => get<Me>("me", {}, signal), staleTime: 60_000 });
}

export function useMay(role: "operator" | "admin"): boolean {
  const me = useMe();
  if (!me.data) return true; // nobody is told no before it is known; the server checks in any case
  const mine = me.data.role;
  return mine === "admin" || (role === "operator" && mine === "operator");
}

/** Numbers beside the names of pages; none where nothing waits. */
export function useCounts(): { questions: number; failed: number } {
  const stats = useLook<Now>("stats");
  return { questions: stats.data?.questions ?? 0, failed: stats.data?.status.failed?.number ?? 0 };
}

/** After an action everything that is on the page is looked at again. */
export function useFresh(): () => Promise<void> {
  const client = useQueryClient();
  return useCallback(() => client.invalidateQueries(), [client]);
}

/* News from the server: one socket for this page; what it says makes the looks of the page fresh. */
import { useEffect } from "react";
import { value } from "../lib/store";

export interface LiveState {
  state: "starting" | "live" | "held" | "lost";
  waiting: number;
  since: number | null;
}

const live = value<LiveState>({ state: "starting", waiting: 0, since: null });
export const pace = value<number>(3000);

export const useLive = () => live.use();

export function hold(waiting: number | null): void {
  const now = live.get();
  if (waiting === null) {
    if (now.state === "held") live.set({ ...now, state: "live", waiting: 0 });
  } else live.set({ ...now, state: "held", waiting });
}

export function useTopic(_name: string, _params: Record<string, string> | null): void {
  useEffect(() => {}, []);
}

export function useNews(_topic: string): number {
  return 0;
}

/* Names that are there, for completing a filter. */
import { useMemo } from "react";
import { useLook } from "./queries";

export function useNames(on: boolean): Record<string, readonly string[]> {
  const tasks = useLook<{ tasks: { name: string }[] }>("tasks", {}, { on, every: 60_000 });
  const found = tasks.data?.tasks;
  return useMemo(
    (): Record<string, readonly string[]> => (found ? { task: found.map((task) => task.name) } : {}),
    [found],
  );
}

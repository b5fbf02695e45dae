/* The task whose coverage is shown where none is named: the one that was looked at last, else the first that has periods. */
import { useEffect, useState } from "react";
import { lastTask } from "../lib/lasttask";
import { useLook } from "./queries";
import type { Grid } from "./types";

export const ROWS = 6;
const TRIED = 5; // tasks whose units may all be files

export const isBare = (grid: Grid) => grid.rows.every((row) => row.cells.length === 0);

/** `task` is undefined until it is known; `grid` is a first look at it by months. */
export function useCoverageTask(on = true) {
  const tasks = useLook<{ tasks: string[] }>("units/tasks", {}, { every: 30_000 });
  const known = tasks.data?.tasks ?? [];
  const last = lastTask.use();
  const [place, setPlace] = useState(0);
  const tried = known.includes(last) ? last : known[place];
  const asked = { task: tried, zoom: "month", limit: ROWS };
  const look = useLook<Grid>("units", asked, { on: on && tried !== undefined, every: 10_000 });
  const grid = look.data?.task === tried ? look.data : undefined; // not that of the one before
  const goesOn = grid !== undefined && isBare(grid) && tried !== last && place + 1 < Math.min(known.length, TRIED);
  useEffect(() => {
    if (goesOn) setPlace(place + 1);
  }, [goesOn, place]);
  const task = grid === undefined || goesOn ? undefined : isBare(grid) ? (known[0] ?? tried) : tried;
  return { tasks, known, grid, task: look.error ? tried : task };
}

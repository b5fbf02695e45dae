/* From the timeline of a job to the road that is drawn: stations with how long each lasted, why, and through whom. Pure. */

export interface Line {
  at: string;
  name: string;
  to: string | null;
  actor: string | null;
  reason: string | null;
  run_no: number | null;
}

export interface Try {
  attempt: number;
  started_at: string | null;
  worker: string | null;
}

export interface Station {
  status: string;
  at: string;
  until: string | null;
  event: string;
  actor: string | null;
  reason: string | null;
  attempt: number | null;
  worker: string | null;
}

const BRIEF = 0.05; // seconds; a wait that nobody could see is no station

export function road(timeline: readonly Line[], attempts: readonly Try[]): Station[] {
  const stations: Station[] = [];
  for (const line of timeline) {
    if (line.name === "submitted") stations.push(station(line, "created"));
    if (line.to === null) continue;
    const last = stations.at(-1);
    if (last && last.status === line.to) last.reason ??= line.reason;
    else if (line.to === "running") stations.push(running(line, attempts));
    else
      stations.push(
        line.name === "submitted" ? { ...station(line, "pending"), actor: null, reason: null } : station(line, line.to),
      );
  }
  return closed(stations);
}

function station(line: Line, status: string): Station {
  return {
    status,
    at: line.at,
    until: null,
    event: line.name,
    actor: line.actor,
    reason: line.reason,
    attempt: null,
    worker: null,
  };
}

function running(line: Line, attempts: readonly Try[]): Station {
  const run = attempts.find((one) => one.started_at === line.at);
  return { ...station(line, "running"), attempt: run?.attempt ?? null, worker: run?.worker ?? null };
}

function closed(stations: readonly Station[]): Station[] {
  return stations
    .map((one, index) => ({ ...one, until: stations[index + 1]?.at ?? null }))
    .filter(
      (one, index) => !(one.status === "pending" && index === 1 && lasted(one, Number.POSITIVE_INFINITY) < BRIEF),
    );
}

/** How long a station lasted, in seconds; up to `now` where it still does. */
export function lasted(one: Station, now: number): number {
  return (one.until === null ? now : Date.parse(one.until)) / 1000 - Date.parse(one.at) / 1000;
}

/** Stations off the straight way are drawn lower. */
export const isDetour = (status: string) =>
  status === "interrupted" || status === "cancelling" || status.startsWith("awaiting_");

/** A long road keeps its beginning and its end; what lies between is folded into one number. */
export function folded(
  stations: readonly Station[],
  most: number,
): { head: Station[]; hidden: number; end: Station[] } {
  if (stations.length <= most) return { head: [...stations], hidden: 0, end: [] };
  const kept = most - 3;
  return { head: stations.slice(0, 2), hidden: stations.length - 2 - kept, end: stations.slice(-kept) };
}

/** How the whole went: from creation to end, and how much of that was work. */
export function totals(stations: readonly Station[], now: number): { whole: number; work: number } {
  const first = stations[0];
  const last = stations.at(-1);
  if (!first || !last) return { whole: 0, work: 0 };
  const end = ["completed", "partial", "failed", "cancelled"].includes(last.status) ? Date.parse(last.at) : now;
  const work = stations.filter((one) => one.status === "running" || one.status === "cancelling");
  return { whole: (end - Date.parse(first.at)) / 1000, work: work.reduce((sum, one) => sum + lasted(one, end), 0) };
}

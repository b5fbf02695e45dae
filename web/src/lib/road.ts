/* From the trail of a job to the road that is drawn: stations with how long each lasted, why, and through whom. Pure. */

export interface TrailEvent {
  at: string;
  name: string;
  from?: string | null;
  to?: string | null;
  run_no?: number | null;
  actor?: string | null;
  reason?: string | null;
  detail?: Record<string, unknown> | null;
}

export interface Subject {
  status: string;
  created_at: string;
  started_at?: string | null;
  finished_at?: string | null;
  actor?: string | null;
  reason?: string | null;
  worker?: string | null;
  attempt: number;
  run_no: number;
  waits_for?: string | null;
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
  run_no: number | null;
  detail: Record<string, unknown>;
}

const HELD = new Set(["running", "cancelling"]);
const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
const whole = (value: unknown): number | null => (typeof value === "number" ? value : null);

function station(status: string, at: string, event: string, rest: Partial<Station> = {}): Station {
  return {
    status,
    at,
    until: null,
    event,
    actor: null,
    reason: null,
    attempt: null,
    worker: null,
    run_no: null,
    detail: {},
    ...rest,
  };
}

/** The start of a run has no line of its own; the event that ended it tells when it was, where, and which attempt. */
function startOf(event: TrailEvent, last: Station | undefined): Station | null {
  const detail = event.detail ?? {};
  const began = text(detail.started_at);
  if (began === null || (last && HELD.has(last.status) && last.run_no === (event.run_no ?? null))) return null;
  const run = { attempt: whole(detail.attempt), worker: text(detail.worker), run_no: event.run_no ?? null };
  return station("running", began, "claimed", run);
}

export function road(job: Subject, events: readonly TrailEvent[]): Station[] {
  const stations = [
    station("created", job.created_at, "submitted", { actor: job.actor ?? null, reason: job.reason ?? null }),
  ];
  stations.push(station("pending", job.created_at, job.waits_for ? "waits" : "queued"));
  for (const event of events) {
    const to = text(event.to);
    if (to === null) continue;
    const begun = startOf(event, stations.at(-1));
    if (begun) stations.push(begun);
    else if (event.name === "stop_requested" && stations.at(-1)?.status !== "running" && job.started_at)
      stations.push(
        station("running", job.started_at, "claimed", {
          worker: job.worker ?? null,
          run_no: event.run_no ?? null,
          attempt: job.attempt,
        }),
      );
    const last = stations.at(-1)!;
    if (last.status === to && to !== "pending") {
      last.reason ??= event.reason ?? null;
      continue;
    }
    stations.push(
      station(to, event.at, event.name, {
        actor: event.actor ?? null,
        reason: event.reason ?? null,
        run_no: event.run_no ?? null,
        detail: event.detail ?? {},
      }),
    );
  }
  withNow(stations, job);
  return closed(stations);
}

/** The current run, and a plain success, stand in the job's own columns. */
function withNow(stations: Station[], job: Subject): void {
  const last = stations.at(-1)!;
  if (last.status === job.status) return;
  const began = job.started_at;
  const started = began && !HELD.has(last.status) && job.status !== "pending" && began >= last.at;
  if (started)
    stations.push(
      station("running", began, "claimed", { worker: job.worker ?? null, attempt: job.attempt, run_no: job.run_no }),
    );
  if (stations.at(-1)!.status === job.status) return;
  const at = job.finished_at ?? began ?? job.created_at;
  stations.push(station(job.status, at, job.finished_at ? "finished" : "claimed", { attempt: job.attempt }));
}

function closed(stations: Station[]): Station[] {
  return stations
    .map((one, index) => ({ ...one, until: stations[index + 1]?.at ?? null }))
    .filter((one, index) => !(one.status === "pending" && index === 1 && one.until !== null && waited(one) < 0.05));
}

export function waited(one: Station): number {
  return one.until === null ? Number.POSITIVE_INFINITY : (Date.parse(one.until) - Date.parse(one.at)) / 1000;
}

/** Stations off the straight way: they are drawn lower. */
export const isDetour = (status: string) =>
  status === "interrupted" || status === "cancelling" || status.startsWith("awaiting_");

/** A long road keeps its beginning and its end; what lies between is folded into one number. */
export function folded(
  stations: readonly Station[],
  most: number,
): { head: Station[]; hidden: Station[]; end: Station[] } {
  if (stations.length <= most) return { head: [...stations], hidden: [], end: [] };
  return {
    head: stations.slice(0, 2),
    hidden: stations.slice(2, stations.length - (most - 3)),
    end: stations.slice(stations.length - (most - 3)),
  };
}

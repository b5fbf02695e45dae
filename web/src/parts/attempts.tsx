/* Each attempt with its end, its worker, its error and how long it took; the newest first. */
import { Link } from "@tanstack/react-router";
import type { Attempt, JobWhole } from "../api/types";
import { useSpeech } from "../i18n";
import { isStatus } from "../lib/words";
import { Card } from "./basic";
import { StatusTag } from "./status";

const ENDS: Record<string, string> = {
  retry_planned: "failed",
  recovered: "interrupted",
  handed_back: "pending",
  held: "interrupted",
  snoozed: "pending",
  asked: "awaiting_input",
  stopped: "cancelled",
  put_back: "pending",
};

export function Attempts({ job, now }: { job: JobWhole; now: number }) {
  const { t, span } = useSpeech();
  const wait = job.status === "pending" && job.run_at ? (Date.parse(job.run_at) - now) / 1000 : 0;
  const used = t("attempts.used", { n: job.attempt, most: job.max_attempts ?? "∞" });
  const next =
    wait > 0.5 && job.attempt > 0
      ? t("attempts.next", { n: job.attempt + 1, most: job.max_attempts ?? "∞", span: span(wait) })
      : null;
  if (job.attempts.length === 0) return null;
  return (
    <Card title={t("attempts.title")} sub={next ?? used} className="o3">
      <div className="card-body attempts">
        {[...job.attempts].reverse().map((one, index) => (
          <One key={`${one.started_at}${index}`} one={one} now={now} />
        ))}
      </div>
    </Card>
  );
}

function One({ one, now }: { one: Attempt; now: number }) {
  const { t, tWord, clock, span, error } = useSpeech();
  const status = isStatus(one.outcome) ? one.outcome : (ENDS[one.outcome] ?? "pending");
  const seconds = one.seconds ?? (one.started_at && !one.ended_at ? (now - Date.parse(one.started_at)) / 1000 : null);
  return (
    <article className={`attempt ${status}`}>
      <header>
        <b>{t("road.attempt.title", { n: one.attempt })}</b>
        {isStatus(one.outcome) ? (
          <StatusTag status={status} />
        ) : (
          <span className={`st ${status}`}>{tWord("event", one.outcome)}</span>
        )}
      </header>
      <p className="soft">
        {one.worker && (
          <>
            <Link to="/workers">{t("road.worker", { id: one.worker.slice(-4) })}</Link>
            {" · "}
          </>
        )}
        {one.started_at ? clock(one.started_at) : "–"}
        {one.ended_at ? `–${clock(one.ended_at)}` : ""} · {span(seconds)}
      </p>
      {Object.keys(one.ids ?? {}).length > 0 && (
        <p className="soft small">
          <span className="mono">{Object.values(one.ids ?? {}).join(" · ")}</span>
          {one.delivered_again ? ` · ${t("attempts.again", { n: one.delivered_again })}` : ""}
        </p>
      )}
      {one.error && <p className="attempt-error">{error(one.error)}</p>}
      {one.next_at && <p className="soft">{t("attempts.after", { at: clock(one.next_at) })}</p>}
    </article>
  );
}

/* What happened, as a sentence: the number first, then the reason. */
import { Link } from "@tanstack/react-router";
import { useLook } from "../api/queries";
import type { ItemPage, JobWhole } from "../api/types";
import { useSpeech } from "../i18n";
import { left, shareDone } from "./jobcells";
import { ToLimits } from "./limits";
import { useActor } from "./status";

export function Verdict({ job, now }: { job: JobWhole; now: number }) {
  return (
    <p className="verdict">
      <Sentence job={job} now={now} />
    </p>
  );
}

function Sentence({ job, now }: { job: JobWhole; now: number }) {
  const { t, error } = useSpeech();
  const actor = useActor();
  const note = job.note ?? "";
  switch (job.status) {
    case "completed":
      return <Completed job={job} />;
    case "partial":
      return <Partly job={job} />;
    case "failed":
      return (
        <>
          <b>
            {job.attempt > 1
              ? t("verdict.failed.after", { n: job.attempt, most: job.max_attempts ?? "∞" })
              : t("verdict.failed")}
          </b>{" "}
          {job.failure ? error(`${job.failure.type}: ${job.failure.message}`) : note}
        </>
      );
    case "cancelled": {
      const last = [...job.timeline].reverse().find((line) => line.actor && line.actor !== "worker");
      return (
        <>
          <b>{t("verdict.cancelled", { who: actor(last?.actor) })}</b> {last?.reason ? last.reason : note}
        </>
      );
    }
    case "running":
      return <Going job={job} now={now} />;
    case "cancelling":
      return (
        <>
          <b>{t("verdict.cancelling")}</b>{" "}
          {job.stop_cause
            ? t(
                job.stop_cause === "cancel"
                  ? "cause.cancel"
                  : job.stop_cause === "timeout"
                    ? "cause.timeout"
                    : "cause.stall",
              )
            : ""}
        </>
      );
    case "interrupted":
      return (
        <>
          <b>{t("verdict.interrupted")}</b> {note || error(job.error ?? "")}
        </>
      );
    case "pending":
      return <Waits job={job} now={now} />;
    default: {
      const open = job.questions.find((question) => question.state === "open");
      return (
        <>
          <b>{t("verdict.asks")}</b> {open?.text}
        </>
      );
    }
  }
}

function Completed({ job }: { job: JobWhole }) {
  const { t } = useSpeech();
  const all = (job.items.ok ?? 0) + (job.items.skipped ?? 0);
  return (
    <>
      <b>{all > 0 ? t("verdict.completed.items", { n: all }) : t("verdict.completed")}</b>{" "}
      {job.items.skipped ? t("told.skipped", { n: job.items.skipped }) : ""} {job.note ?? ""}
    </>
  );
}

function Partly({ job }: { job: JobWhole }) {
  const { t } = useSpeech();
  const failed = job.items.failed ?? 0;
  const first = useLook<ItemPage>(
    `jobs/${job.id}/items`,
    { outcome: "failed", limit: 1 },
    { on: failed > 0, every: 60_000 },
  );
  const one = first.data?.items[0];
  const all = (job.items.ok ?? 0) + failed + (job.items.skipped ?? 0);
  return (
    <>
      <b>
        {all > 0
          ? t("verdict.partial", { ok: (job.items.ok ?? 0) + (job.items.skipped ?? 0), n: all })
          : t("verdict.partial.plain")}
      </b>{" "}
      {failed > 0 && one
        ? t(failed === 1 ? "verdict.refused.one" : "verdict.refused", {
            n: failed,
            why: one.reason ?? one.key,
            key: one.key,
          })
        : failed > 0
          ? t("road.partial", { n: failed })
          : (job.note ?? "")}
    </>
  );
}

function Going({ job, now }: { job: JobWhole; now: number }) {
  const { t, num, span } = useSpeech();
  const share = shareDone(job);
  const rest = left(job, now);
  const { done, total, message } = job.progress ?? {};
  const head =
    done != null && total
      ? t("verdict.done.of", { n: done, all: total })
      : share !== null
        ? t("verdict.share", { share: num(share * 100) })
        : t("verdict.running");
  return (
    <>
      <b>{head}</b> {[message, rest !== null && t("told.left", { span: span(rest) })].filter(Boolean).join(" · ")}
    </>
  );
}

function Waits({ job, now }: { job: JobWhole; now: number }) {
  const { t, span, clock, error } = useSpeech();
  if (job.waits_for)
    return (
      <>
        <b>{t("verdict.behind")}</b>{" "}
        <Link to="/jobs/$id" params={{ id: job.waits_for }}>
          {t("verdict.behind.link")}
        </Link>
      </>
    );
  const wait = job.run_at ? (Date.parse(job.run_at) - now) / 1000 : 0;
  const again = job.attempt > 0 && job.max_attempts !== 1;
  if (wait > 0.5 && job.run_at)
    return (
      <>
        <b>
          {again
            ? t("verdict.attempt", { n: job.attempt + 1, most: job.max_attempts ?? "∞", span: span(wait) })
            : t("verdict.later", { span: span(wait), at: clock(job.run_at) })}
        </b>{" "}
        {error(job.retry_reason ?? job.error ?? "")}
      </>
    );
  const why = job.why_waiting?.words ?? t("told.due");
  const limit = job.why_waiting?.limit;
  return (
    <>
      <b>{`${why.charAt(0).toUpperCase()}${why.slice(1)}.`}</b>
      {limit && (
        <>
          {" "}
          <ToLimits name={limit} />
        </>
      )}
    </>
  );
}

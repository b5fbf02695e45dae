/* How a job is told in a line: what it works on, how it goes, how long it took. */
import type { JobLine } from "../api/types";
import { useSpeech } from "../i18n";
import { seconds } from "../lib/format";
import { isFinal, isWaiting } from "../lib/words";
import { Bar } from "./basic";

export function useTold(): { what: (job: JobLine) => string; name: (job: JobLine) => string } {
  const what = (job: JobLine) => job.period ?? job.file ?? "";
  return { what, name: (job) => [job.task, job.source, what(job)].filter(Boolean).join(" ") };
}

export function tries(job: { attempt: number; max_attempts: number | null }): string {
  return job.attempt === 0 ? "" : `${job.attempt}/${job.max_attempts ?? "∞"}`;
}

export function took(job: JobLine, now: number): number | null {
  if (!job.started_at) return null;
  if (job.finished_at) return seconds(job.started_at, job.finished_at);
  return job.status === "running" || job.status === "cancelling" ? seconds(job.started_at, now) : null;
}

/** Seconds until the end, from how far it is and since when; none before something is known. */
export function left(job: JobLine, now: number): number | null {
  const share = shareDone(job);
  if (share === null || share < 0.02 || share >= 1 || job.status !== "running") return null;
  const spent = seconds(job.started_at, now);
  return spent === null || spent < 2 ? null : (spent * (1 - share)) / share;
}

export function shareDone(job: JobLine): number | null {
  const progress = job.progress;
  if (!progress) return null;
  if (progress.percent !== null && progress.percent !== undefined) return progress.percent / 100;
  return progress.done != null && progress.total ? progress.done / progress.total : null;
}

export function itemParts(items: JobLine["items"]): { name: string; share: number }[] {
  const [ok, skipped, failed] = [items.ok ?? 0, items.skipped ?? 0, items.failed ?? 0];
  const all = ok + skipped + failed;
  if (all === 0) return [];
  const least = (n: number) => (n === 0 ? 0 : Math.max(n / all, 0.012));
  const bad = least(failed);
  return [
    { name: "ok", share: Math.min(ok / all, 1 - bad) },
    { name: "skipped", share: Math.min(skipped / all, 1 - bad) },
    { name: "partial", share: bad },
  ];
}

/** The cell that says most: progress, what was refused, why it waits or failed. One line, and a bar where one helps. */
export function Outcome({ job, now }: { job: JobLine; now: number }) {
  const { t, num, span, error } = useSpeech();
  const { items } = job;
  if (job.status === "running" || job.status === "cancelling") return <Running job={job} now={now} />;
  if (job.status === "pending") return <Pending job={job} now={now} />;
  if (isWaiting(job.status)) return <span className="soft ell">{t("told.asks")}</span>;
  if (items.failed && job.status !== "failed")
    return (
      <div className="res-in">
        <span className="line">
          <span>
            {num(items.ok ?? 0)} <span className="dim">{t("items.ok.word")}</span>
          </span>
          <span className="partial fg">
            <b>{num(items.failed)}</b> {t("items.failed.word")}
          </span>
        </span>
        <Bar parts={itemParts(items)} />
      </div>
    );
  if (job.error && job.status !== "completed")
    return (
      <span className={`ell ${job.status === "failed" ? "failed fg" : "soft"}`} title={job.error}>
        {error(job.error)}
      </span>
    );
  if (job.note)
    return (
      <span className="soft ell" title={job.note}>
        {job.note}
      </span>
    );
  if (items.ok || items.skipped)
    return (
      <span className="soft ell">
        {t("told.items", { n: (items.ok ?? 0) + (items.skipped ?? 0) })}
        {items.skipped ? <span className="dim">, {t("told.skipped", { n: items.skipped })}</span> : null}
      </span>
    );
  return isFinal(job.status) ? <span className="dim">–</span> : <span className="dim">{span(null)}</span>;
}

function Running({ job, now }: { job: JobLine; now: number }) {
  const { t, num, span } = useSpeech();
  const share = shareDone(job);
  const rest = left(job, now);
  const progress = job.progress;
  return (
    <div className="res-in">
      <span className="line">
        <span className="ell">
          {progress?.done != null ? (
            <>
              {num(progress.done)} {progress.total ? <span className="dim">/ {num(progress.total)}</span> : null}
            </>
          ) : share !== null ? (
            `${num(share * 100)} %`
          ) : (
            <span className="dim">{t("told.noprogress")}</span>
          )}
          {progress?.message ? <span className="dim"> {progress.message}</span> : null}
        </span>
        <span className="soft nowrap">{rest === null ? "" : t("told.left", { span: span(rest) })}</span>
      </span>
      <Bar parts={share === null ? [] : [{ name: job.status, share }]} />
    </div>
  );
}

/* What a list says of a job that is due, by the reason the server gives. */
function waitingWord(code: string | null | undefined) {
  switch (code) {
    case "paused":
      return "waiting.paused";
    case "no-worker":
      return "waiting.noworker";
    case "alone":
      return "waiting.alone";
    case "busy":
      return "waiting.busy";
    case "not-handed":
    case "no-relay":
      return "waiting.nothanded";
    case "handed":
      return "waiting.handed";
    case "no-host":
      return "waiting.nohost";
    default:
      return "told.due";
  }
}

function Pending({ job, now }: { job: JobLine; now: number }) {
  const { t, tWord, span, error } = useSpeech();
  const wait = job.run_at ? (new Date(job.run_at).getTime() - now) / 1000 : null;
  const again = job.attempt > 0 || job.retry_reason;
  let text = t(waitingWord(job.waiting), { executor: tWord("executor", job.executor ?? "") });
  if (job.run_at === null) text = t("told.behind");
  else if (wait !== null && wait > 0.5)
    text =
      again && job.max_attempts !== 1
        ? t("told.attempt", { n: job.attempt + 1, most: job.max_attempts ?? "∞", span: span(wait) })
        : t("told.later", { span: span(wait) });
  const why = error(job.retry_reason ?? job.error ?? "");
  return (
    <span className="soft ell" title={why || undefined}>
      {text}
      {why ? `, ${why}` : ""}
    </span>
  );
}

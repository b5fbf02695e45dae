/* What a job is about: source, period or file, unit, arguments, result, by whom, with which code. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { JobWhole } from "../api/types";
import { useSpeech } from "../i18n";
import { stringify } from "../lib/exact";
import { word } from "../lib/filter";
import { Card, Json, Rows } from "./basic";
import { StatusTag, useActor } from "./status";

export function Facts({ job }: { job: JobWhole }) {
  const { t, tWord, bytes, moment, num } = useSpeech();
  const actor = useActor();
  const rows: [ReactNode, ReactNode][] = [];
  const add = (name: ReactNode, value: ReactNode) => rows.push([name, value]);
  if (job.source)
    add(
      t("col.source"),
      <Link to="/jobs" search={{ q: word("source", job.source) }}>
        {job.source}
      </Link>,
    );
  if (job.period)
    add(
      t("facts.period"),
      <Link to="/jobs" search={{ q: `${word("task", job.task)} ${word("period", job.period)}` }}>
        {job.period}
      </Link>,
    );
  if (job.input)
    add(
      t("facts.file"),
      <>
        <span className="mono" title={job.input.path}>
          {job.input.name}
        </span>
        <br />
        <span className="dim">
          {bytes(job.input.size)}
          {job.input.uploaded ? ` · ${t("facts.uploaded")}` : ""}
          <br />
          SHA-256{" "}
          <span className="mono" title={job.input.sha256}>
            {short(job.input.sha256)}
          </span>
        </span>
      </>,
    );
  if (job.unit_of) add(t("facts.truth"), <Truth job={job} />);
  add(t("facts.arguments"), <Given value={job.arguments} name={t("facts.arguments")} />);
  if (job.result !== null && job.result !== undefined)
    add(t("facts.result"), <Given value={job.result} name={t("facts.result")} />);
  if (Object.keys(job.labels).length > 0) add(t("facts.labels"), <Labels labels={job.labels} />);
  if (job.context && Object.keys(job.context as object).length > 0)
    add(t("facts.context"), <Given value={job.context} name={t("facts.context")} />);
  add(t("col.by"), [actor(job.actor), job.reason && job.reason].filter(Boolean).join(", "));
  if (job.submitted_by) {
    const by = job.submitted_by;
    add(t("facts.from"), <span title={by.program ?? undefined}>{`${by.host}, pid ${by.pid}`}</span>);
    add(t("facts.code"), <span className="mono">{by.version}</span>);
  }
  add(t("facts.queue"), t("facts.queued", { queue: job.queue, n: job.priority }));
  if (job.executor)
    add(
      t("facts.executor"),
      <>
        {tWord("executor", job.executor)}
        {job.handed_over && <span className="dim">, {t("facts.handed", { at: moment(job.handed_over) })}</span>}
      </>,
    );
  if (job.steps.length > 0)
    add(
      t("facts.steps"),
      job.steps.map((step) => (
        <span key={step.name + step.at} className="kept-step">
          {step.name} <span className="dim">{num(step.seconds, 2)} s</span>
        </span>
      )),
    );
  add(t("facts.created"), moment(job.created_at));
  add(t("facts.job"), <span className="mono small">{job.id}</span>);
  return (
    <Card title={t("facts.title")} className="o4">
      <div className="card-body">
        <Rows rows={rows} />
      </div>
    </Card>
  );
}

/** The traceback of a job that failed: it comes first, for it says where. */
export function Traceback({ job }: { job: JobWhole }) {
  const { t } = useSpeech();
  if (!job.failure?.traceback) return null;
  return (
    <Card title={t("facts.trace")} className="o1">
      <div className="card-body trace">
        <pre tabIndex={0} role="group" aria-label={t("facts.trace")}>
          {job.failure.traceback}
        </pre>
        <p className="small dim">
          <Link to="/jobs" search={{ q: word("error", job.failure.fingerprint) }}>
            {t("facts.alike")}
          </Link>
        </p>
      </div>
    </Card>
  );
}

const LONG = 20; // lines

/** A value of many lines is folded, so that it pushes nothing away. */
function Given({ value, name }: { value: unknown; name: string }) {
  const { t } = useSpeech();
  const lines = stringify(value, 1)?.split("\n").length ?? 0;
  if (lines <= LONG) return <Json value={value} />;
  return (
    <details className="fold">
      <summary>
        {name}: {t("facts.lines", { n: lines })}
      </summary>
      <Json value={value} />
    </details>
  );
}

function short(hash: string): string {
  return hash.length > 16 ? `${hash.slice(0, 4)} ${hash.slice(4, 8)} … ${hash.slice(-4)}` : hash;
}

function Truth({ job }: { job: JobWhole }) {
  const { t } = useSpeech();
  const unit = job.unit_of!;
  const outcome = { success: "completed", partial: "partial", error: "failed" }[unit.outcome ?? ""] ?? "pending";
  const newest = unit.active ?? unit.job;
  return (
    <>
      <StatusTag status={newest === job.id ? job.status : unit.active && !unit.outcome ? "running" : outcome} />{" "}
      {newest && newest !== job.id ? (
        <Link to="/jobs/$id" params={{ id: newest }}>
          {t("facts.newer")}
        </Link>
      ) : (
        <span className="dim">{t("facts.this")}</span>
      )}
      {job.unit && (
        <>
          <br />
          <Link to="/jobs" search={{ q: `unit:${job.unit}` }}>
            {t("facts.all")}
          </Link>
        </>
      )}
    </>
  );
}

function Labels({ labels }: { labels: Record<string, string> }) {
  return (
    <>
      {Object.entries(labels).map(([key, value]) => (
        <Link key={key} className="label" to="/jobs" search={{ q: word("label", `${key}=${value}`) }}>
          {key}={value}
        </Link>
      ))}
    </>
  );
}

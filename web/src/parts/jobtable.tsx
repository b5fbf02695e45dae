/* The table of jobs: one line a job, quiet unless something is wrong. On a phone each line is a card. */
import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { JobLine } from "../api/types";
import { useSpeech } from "../i18n";
import { Check } from "./basic";
import { Outcome, took, tries, useTold } from "./jobcells";
import { StatusTag, useActor } from "./status";

interface TableProps {
  rows: readonly JobLine[];
  now: number;
  selected?: ReadonlySet<string>;
  all?: boolean;
  cursor?: number;
  onToggle?: (id: string) => void;
  onAll?: (on: boolean) => void;
}

export function JobTable({ rows, now, selected, all, cursor = -1, onToggle, onAll }: TableProps) {
  const { t } = useSpeech();
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => {
    if (cursor >= 0) body.current?.children[cursor]?.scrollIntoView({ block: "nearest" });
  }, [cursor]);
  const every = rows.length > 0 && selected !== undefined && rows.every((job) => selected.has(job.id));
  return (
    <table className="t cards jobs">
      <thead>
        <tr>
          {onAll && (
            <th className="sel" scope="col">
              <Check
                checked={every}
                some={!every && (selected?.size ?? 0) > 0}
                label={t("jobs.selectall", { n: rows.length })}
                onChange={onAll}
              />
            </th>
          )}
          <th scope="col" className="c-status">
            {t("col.status")}
          </th>
          <th scope="col" className="c-task">
            {t("col.task")}
          </th>
          <th scope="col" className="c-src">
            {t("col.source")}
          </th>
          <th scope="col" className="c-per">
            {t("col.period")}
          </th>
          <th scope="col" className="c-att num">
            {t("col.attempt")}
          </th>
          <th scope="col" className="res">
            {t("col.outcome")}
          </th>
          <th scope="col" className="c-start num">
            {t("col.started")}
          </th>
          <th scope="col" className="c-dur num">
            {t("col.took")}
          </th>
          <th scope="col" className="c-by">
            {t("col.by")}
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        {rows.map((job, index) => (
          <Line
            key={job.id}
            job={job}
            now={now}
            at={index === cursor}
            chosen={all || selected?.has(job.id) || false}
            onToggle={onToggle}
          />
        ))}
      </tbody>
    </table>
  );
}

function Line({
  job,
  now,
  at,
  chosen,
  onToggle,
}: {
  job: JobLine;
  now: number;
  at: boolean;
  chosen: boolean;
  onToggle?: (id: string) => void;
}) {
  const { t, tWord, moment, span, full } = useSpeech();
  const { what, name } = useTold();
  const actor = useActor();
  const started = job.started_at ?? null;
  return (
    <tr data-chosen={chosen || undefined} className={at ? "pos" : undefined}>
      {onToggle && (
        <td className="sel">
          <Check checked={chosen} label={t("jobs.select", { job: name(job) })} onChange={() => onToggle(job.id)} />
        </td>
      )}
      <td className="c-status">
        <StatusTag status={job.status} />
      </td>
      <td className="c-task">
        <Link className="main ell" to="/jobs/$id" params={{ id: job.id }} aria-label={name(job)}>
          {job.task}
        </Link>
        {job.executor && <span className="dim small"> {tWord("executor", job.executor)}</span>}
      </td>
      <td className="c-src">
        <span className="ell" title={job.source ?? undefined}>
          {job.source ?? <span className="dim">–</span>}
        </span>
      </td>
      <td className="c-per">
        <span className={`ell ${job.period ? "" : "mono"}`} title={what(job)}>
          {what(job) || <span className="dim">–</span>}
        </span>
      </td>
      <td className={`c-att num ${job.attempt > 1 ? "" : "dim"}`}>{tries(job)}</td>
      <td className="res">
        <Outcome job={job} now={now} />
      </td>
      <td className="c-start num nowrap" title={full(started ?? job.created_at)}>
        {started ? moment(started, now) : <span className="dim">–</span>}
      </td>
      <td className="c-dur num nowrap">{span(took(job, now))}</td>
      <td className="c-by dim">
        <span className="ell">{actor(job.actor)}</span>
      </td>
    </tr>
  );
}

/* Errors: by their cause, the newest first, and when they came in which task. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useLook } from "../api/queries";
import type { ErrorMatrix, Errors as Found } from "../api/types";
import { useSpeech } from "../i18n";
import { word } from "../lib/filter";
import { Card, Choice, Empty, Head, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { ErrorHandling } from "../parts/errorhandling";
import { ProblemNote } from "../parts/problem";
import { StatusTag } from "../parts/status";

type Since = "24" | "168" | "720";

export function Errors() {
  const { t, count, moment, span, error } = useSpeech();
  usePlace({ text: t("nav.errors") });
  const navigate = useNavigate();
  const search = useSearch({ from: "/errors" });
  const asked = search.since;
  const since: Since = asked === "24" || asked === "720" ? asked : "168";
  const whole = search.show === "all";
  const query = useLook<Found>("errors", { hours: since, unhandled: !whole });
  const kinds = query.data?.kinds ?? [];
  return (
    <>
      <Head
        title={t("errors.title")}
        sub={
          query.data
            ? t(query.data.all ? "errors.sub" : "errors.sub.none", {
                n: query.data.all,
                span: span(Number(since) * 3600),
              })
            : " "
        }
        end={
          <>
            <Choice
              label={t("inbox.show")}
              value={whole ? "all" : "open"}
              options={[
                ["open", t("inbox.open.n", { n: query.data?.open ?? 0 })],
                ["all", t("inbox.all")],
              ]}
              onChange={(show) => void navigate({ to: "/errors", search: { ...search, show }, replace: true })}
            />
            <Choice
              label={t("chart.time")}
              value={since}
              options={[
                ["24", span(24 * 3600)],
                ["168", span(168 * 3600)],
                ["720", span(720 * 3600)],
              ]}
              onChange={(next) => void navigate({ to: "/errors", search: { ...search, since: next }, replace: true })}
            />
          </>
        }
      />
      {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
      <Card title={t("errors.causes")} sub={t("errors.newest")}>
        {query.isPending && <Waiting />}
        {query.data && kinds.length === 0 && (
          <Empty title={t(query.data.all ? "inbox.none" : "errors.none")}>
            {t(query.data.all ? "inbox.none.how" : "errors.none.how")}
          </Empty>
        )}
        {kinds.length > 0 && (
          <table className="t cards stack errors">
            <thead>
              <tr>
                <th scope="col">{t("errors.error")}</th>
                <th scope="col" className="num">
                  {t("nav.jobs")}
                </th>
                <th scope="col">{t("errors.tasks")}</th>
                <th scope="col">{t("errors.last")}</th>
                <th scope="col" className="num">
                  {t("errors.first")}
                </th>
              </tr>
            </thead>
            <tbody>
              {kinds.map((kind) => (
                <tr key={kind.fingerprint}>
                  <td className="error-text">
                    <Link className="main" to="/jobs" search={{ q: word("error", kind.fingerprint) }}>
                      {kind.error ? error(kind.error) : kind.fingerprint}
                    </Link>
                    <br />
                    <span className="mono dim small">{kind.fingerprint}</span>
                    <ErrorHandling kind={kind} />
                  </td>
                  <td className="num" data-th={t("nav.jobs")}>
                    <b>{count(kind.jobs.number, !kind.jobs.more)}</b>
                  </td>
                  <td data-th={t("errors.tasks")}>
                    <Names of={kind.tasks} more={kind.more_tasks} />
                  </td>
                  <td data-th={t("errors.last")}>
                    <Link className="quiet-link" to="/jobs/$id" params={{ id: kind.last_job }}>
                      <StatusTag status={kind.last_status} />
                      <span className="dim small">
                        {[kind.last_source, kind.last_period].filter(Boolean).join(" ")} {moment(kind.last_at)}
                      </span>
                    </Link>
                  </td>
                  <td className="num nowrap dim" data-th={t("errors.first")}>
                    {moment(kind.first_at)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Card>
      <Matrix hours={Number(since)} />
    </>
  );
}

const NAMED = 3;
const PARTS = 24;

/** The first names, and the others where somebody wants them. */
function Names({ of, more }: { of: string[]; more: number }) {
  const { t } = useSpeech();
  const [whole, setWhole] = useState(false);
  const rest = of.length - NAMED;
  if (rest <= 0) return of.join(", ");
  return (
    <>
      {(whole ? of : of.slice(0, NAMED)).join(", ")}
      {whole && more > 0 && ` ${t("and.more", { n: more })}`}{" "}
      <button type="button" className="link small" aria-expanded={whole} onClick={() => setWhole(!whole)}>
        {whole ? t("needs.fewer") : t("and.more", { n: rest + more })}
      </button>
    </>
  );
}

/** When which error came in which task: height and number, a colour only says that it is an error. */
function Matrix({ hours }: { hours: number }) {
  const { t, num, moment, span, error } = useSpeech();
  const query = useLook<ErrorMatrix>("errors/matrix", { hours, parts: PARTS }, { every: 10_000 });
  const found = query.data;
  if (!found || found.cells.length === 0) return null;
  const rows = new Map<string, { task: string; fingerprint: string; sum: number; parts: number[] }>();
  for (const cell of found.cells) {
    const key = `${cell.task}\0${cell.fingerprint}`;
    const row = rows.get(key) ?? {
      task: cell.task,
      fingerprint: cell.fingerprint,
      sum: 0,
      parts: Array<number>(found.parts).fill(0),
    };
    row.parts[cell.part] = cell.jobs;
    row.sum += cell.jobs;
    rows.set(key, row);
  }
  const lines = [...rows.values()].sort((a, b) => b.sum - a.sum);
  const most = Math.max(1, ...found.cells.map((cell) => cell.jobs));
  return (
    <Card title={t("matrix.title")} sub={t("matrix.sub", { span: span(found.seconds) })}>
      <div className="scroll-x" tabIndex={0} role="group" aria-label={t("matrix.title")}>
        <table className="t rows matrix">
          <thead>
            <tr>
              <th scope="col">{t("col.task")}</th>
              <th scope="col">{t("errors.error")}</th>
              <th scope="col">
                {moment(found.since)} … {moment(found.now)}
              </th>
              <th scope="col" className="num">
                {t("matrix.sum")}
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map((row) => (
              <tr key={row.task + row.fingerprint}>
                <td>
                  <b>{row.task}</b>
                </td>
                <td className="error-cut">
                  <Link
                    className="ell"
                    to="/jobs"
                    search={{ q: `${word("task", row.task)} ${word("error", row.fingerprint)}` }}
                  >
                    {error(found.errors[row.fingerprint] ?? row.fingerprint)}
                  </Link>
                </td>
                <td>
                  <svg
                    className="spark"
                    viewBox={`0 0 ${found.parts * 10} 24`}
                    preserveAspectRatio="none"
                    role="img"
                    aria-label={row.parts
                      .map((number, part) =>
                        number ? `${moment(Date.parse(found.since) + part * found.seconds * 1000)}: ${number}` : "",
                      )
                      .filter(Boolean)
                      .join(", ")}
                  >
                    {row.parts.map((number, part) => (
                      <g key={part} className="failed">
                        <rect className="spark-bg" x={part * 10 + 1} y="21" width="8" height="2" />
                        {number > 0 && (
                          <rect
                            className="fill"
                            x={part * 10 + 1}
                            y={23 - Math.max(4, (number / most) * 22)}
                            width="8"
                            height={Math.max(4, (number / most) * 22)}
                          >
                            <title>{`${moment(Date.parse(found.since) + part * found.seconds * 1000)}: ${number}`}</title>
                          </rect>
                        )}
                      </g>
                    ))}
                  </svg>
                </td>
                <td className="num">{num(row.sum)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {found.more && <p className="calm">{t("matrix.more", { n: found.looked_at })}</p>}
    </Card>
  );
}

/* How a task has gone: this week and the week before, how long it takes, its last runs, and what stands around it. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useLook } from "../api/queries";
import type { TaskHistory as Found, Queues, ScheduleList, TaskShape } from "../api/types";
import { useSpeech } from "../i18n";
import { word } from "../lib/filter";
import { useNow } from "../lib/pulse";
import { Card, Empty, Rows } from "./basic";
import { ProblemNote } from "./problem";

export function TaskHistory({ task }: { task: TaskShape }) {
  const query = useLook<Found>("stats/task", { name: task.name }, { keep: false, every: 5000 });
  const found = query.data;
  if (query.error && !found) return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
  if (!found) return null;
  return (
    <>
      <div className="grid g-2-1 stretch">
        <Weeks found={found} />
        <Around task={task} found={found} />
      </div>
      <div className="grid g-2-1 stretch">
        <LastRuns found={found} />
        <Histogram found={found} />
      </div>
    </>
  );
}

type Week = Found["week"];

function Weeks({ found }: { found: Found }) {
  const { t, num, span } = useSpeech();
  const share = (value: number | null) => (value === null ? "–" : `${num(value * 100, 1)} %`);
  const lines: [string, (week: Week) => string][] = [
    [t("history.ended"), (week) => num(week.ended)],
    [t("history.success"), (week) => share(week.success)],
    [t("history.partial"), (week) => share(week.partial)],
    [t("history.run", { share: 50 }), (week) => span(week.run?.p50)],
    [t("history.run", { share: 95 }), (week) => span(week.run?.p95)],
    [t("history.run", { share: 99 }), (week) => span(week.run?.p99)],
    [t("history.wait", { share: 95 }), (week) => span(week.wait?.p95)],
  ];
  return (
    <Card title={t("history.title")} sub={t("history.sub")}>
      <table className="t rows">
        <thead>
          <tr>
            <td />
            <th scope="col" className="num">
              {t("history.week")}
            </th>
            <th scope="col" className="num">
              {t("history.before")}
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map(([name, told]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="num">
                <b>{told(found.week)}</b>
              </td>
              <td className="num dim">{told(found.before)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

const BAR = { width: 10, height: 90 };

/** Each run is a bar as high as it took, in the colour of how it ended; the tallest says how long that was. */
function LastRuns({ found }: { found: Found }) {
  const { t, tWord, moment, span } = useSpeech();
  const now = useNow();
  const lasted = (run: Found["runs"][number]) => run.seconds ?? Math.max(0, (now - Date.parse(run.started_at)) / 1000);
  const most = Math.max(0.001, ...found.runs.map(lasted));
  return (
    <Card title={t("history.runs", { n: found.runs.length })} sub={t("history.runs.sub", { span: span(most) })}>
      {found.runs.length === 0 && <Empty title={t("history.none")} />}
      {found.runs.length > 0 && (
        <div
          className="card-body scroll-x"
          tabIndex={0}
          role="group"
          aria-label={t("history.runs", { n: found.runs.length })}
        >
          <svg className="runs" width={found.runs.length * BAR.width} height={BAR.height}>
            <title>{t("history.runs", { n: found.runs.length })}</title>
            {found.runs.map((run, place) => {
              const height = Math.max(3, (lasted(run) / most) * (BAR.height - 4));
              return (
                <Link key={run.job} to="/jobs/$id" params={{ id: run.job }} className={run.status}>
                  <title>{`${tWord("status", run.status)}, ${span(lasted(run))}, ${moment(run.started_at)}`}</title>
                  <rect className="hit" x={place * BAR.width} width={BAR.width} height={BAR.height} />
                  <rect
                    className="fill"
                    x={place * BAR.width + 1}
                    y={BAR.height - height}
                    width={BAR.width - 2}
                    height={height}
                  />
                </Link>
              );
            })}
          </svg>
        </div>
      )}
    </Card>
  );
}

const WIDE = 300;
const HIGH = 90;

/** How many runs took how long; the middle of all and the slow ends are lines. */
function Histogram({ found }: { found: Found }) {
  const { t, num, span } = useSpeech();
  const bins = found.durations;
  const run = found.week.run;
  const first = bins[0];
  const last = bins.at(-1);
  if (!run || !first || !last) return null;
  const most = Math.max(...bins.map((bin) => bin.jobs));
  const width = WIDE / bins.length;
  const at = (seconds: number) => {
    const place = bins.findIndex((bin) => seconds < bin.most);
    return ((place < 0 ? bins.length : place) + 0.5) * width;
  };
  const told = t("history.spread", { p50: span(run.p50), p95: span(run.p95), p99: span(run.p99) });
  return (
    <Card title={t("history.durations")} sub={t("history.week")}>
      <div className="card-body">
        <svg className="histogram" viewBox={`0 0 ${WIDE} ${HIGH}`} role="img" aria-label={told}>
          {bins.map((bin, place) => (
            <rect
              key={bin.least}
              className="fill"
              x={place * width + 0.5}
              y={HIGH - (bin.jobs / most) * (HIGH - 8)}
              width={Math.max(0.5, width - 1)}
              height={(bin.jobs / most) * (HIGH - 8)}
            >
              <title>{`${span(bin.least)} – ${span(bin.most)}: ${num(bin.jobs)}`}</title>
            </rect>
          ))}
          {[run.p50, run.p95, run.p99].map((seconds, index) => (
            <line key={index} className={`p p${index}`} x1={at(seconds)} x2={at(seconds)} y1="0" y2={HIGH} />
          ))}
        </svg>
        <p className="small dim">
          {span(first.least)} … {span(last.most)}
        </p>
        <p className="small">{told}</p>
      </div>
    </Card>
  );
}

/** Its errors, schedules, queue and units. */
function Around({ task, found }: { task: TaskShape; found: Found }) {
  const { t, tWord, num, error } = useSpeech();
  const schedules = useLook<ScheduleList>("schedules", {}, { every: 15_000 });
  const queues = useLook<Queues>("queues", {}, { every: 15_000 });
  const mine = (schedules.data?.schedules ?? []).filter((one) => one.task === task.name);
  const queue = queues.data?.queues.find((one) => one.name === task.queue);
  const units = Object.entries(found.units).filter(([, number]) => number > 0);
  const of = word("task", task.name);
  const none = (text: string) => <span className="dim">{text}</span>;
  const errors = (
    <ul className="plain">
      {found.errors.map((one) => (
        <li key={one.fingerprint}>
          <Link to="/jobs" search={{ q: `${of} ${word("error", one.fingerprint)}` }}>
            {one.error ? error(one.error) : one.fingerprint}
          </Link>{" "}
          <b>{num(one.jobs)}</b>
        </li>
      ))}
    </ul>
  );
  const planned = (
    <ul className="plain">
      {mine.map((one) => (
        <li key={one.name}>
          <Link to="/schedules/$name" params={{ name: one.name }}>
            {one.name}
          </Link>
        </li>
      ))}
    </ul>
  );
  const waits = queue && (
    <Link to="/jobs" search={{ q: `${word("queue", queue.name)} status:active` }}>
      {t("history.queue", { name: queue.name, due: queue.due, running: queue.running })}
    </Link>
  );
  const truth = (
    <Link to="/coverage" search={{ task: task.name }}>
      {units.map(([outcome, number]) => `${tWord("outcome", outcome)} ${num(number)}`).join(", ")}
      {found.units_more ? " …" : ""}
    </Link>
  );
  const rows: [string, ReactNode][] = [];
  rows.push([t("nav.errors"), found.errors.length ? errors : none(t("history.noerrors"))]);
  rows.push([t("nav.schedules"), mine.length ? planned : none(t("history.noschedules"))]);
  rows.push([t("task.queue"), waits ?? task.queue ?? "–"]);
  rows.push([t("history.units"), units.length ? truth : none(t("history.nounits"))]);
  return (
    <Card title={t("history.around")}>
      <div className="card-body">
        <Rows rows={rows} />
      </div>
    </Card>
  );
}

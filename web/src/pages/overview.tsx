/* Overview: what needs me now? Then whether it flows, how it has gone on, and what comes next. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTopic } from "../api/live";
import { useLook } from "../api/queries";
import type { Needs, Now, ScheduleList, Workers } from "../api/types";
import { useSpeech } from "../i18n";
import { useNow } from "../lib/pulse";
import { isFinal, type Status } from "../lib/words";
import { Card, Empty, Head, Icon, Note, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { later } from "../parts/later";
import { NeedLine } from "../parts/need";
import { PluginStrips } from "../parts/pluginstrips";
import { ProblemNote } from "../parts/problem";
import { StatusTag } from "../parts/status";
import { Strip } from "../parts/strip";

const Charts = later(async () => (await import("../parts/charts")).default, <div className="chart-wait" />);
void Charts.preload(); // while the rest is drawn
const SHOWN = 8;
const TILES: Status[] = [
  "pending",
  "running",
  "cancelling",
  "awaiting_input",
  "awaiting_mapping",
  "interrupted",
  "failed",
  "partial",
  "completed",
  "cancelled",
];
const ALWAYS = new Set<string>([
  "pending",
  "running",
  "awaiting_input",
  "interrupted",
  "failed",
  "partial",
  "completed",
]);

export function Overview() {
  const { t } = useSpeech();
  usePlace({ text: t("nav.overview") });
  useTopic("stats", {});
  useTopic("needs", {});
  useTopic("workers", {});
  const needs = useLook<Needs>("stats/needs");
  const stats = useLook<Now>("stats");
  const [whole, setWhole] = useState(false);
  const number = needs.data?.needs.length ?? 0;
  return (
    <>
      <Head
        title={t("overview.title")}
        sub={needs.data ? t(number ? "overview.sub" : "overview.sub.none", { n: number }) : " "}
      />
      {stats.error && <ProblemNote problem={stats.error} onRetry={() => void stats.refetch()} />}
      <Facts stats={stats.data} />
      <PluginStrips />
      <div className="grid g-2-1 stretch">
        <Card title={t("needs.title")} sub={t("needs.order")}>
          {needs.isPending && <Waiting />}
          {needs.data && number === 0 && <Empty title={t("needs.none")}>{t("needs.none.how")}</Empty>}
          <ol className="needs">
            {needs.data?.needs.slice(0, whole ? undefined : SHOWN).map((one, index) => (
              <NeedLine
                key={`${one.kind}${one.job}${one.schedule}${one.queue}${one.worker}${one.fingerprint}`}
                need={one}
                first={index === 0}
              />
            ))}
          </ol>
          {needs.data && number > 0 && <Calm needs={needs.data.needs} />}
          {number > SHOWN && (
            <p className="calm">
              <button type="button" className="link" aria-expanded={whole} onClick={() => setWhole(!whole)}>
                {whole ? t("needs.fewer") : t("needs.more", { n: number - SHOWN })}
              </button>
            </p>
          )}
        </Card>
        <Flow stats={stats.data} />
      </div>
      <Charts />
      <div className="grid g-2-1 stretch last-row">
        <Strip />
        <Soon />
      </div>
    </>
  );
}

/** What might have gone wrong and has not. */
function Calm({ needs }: { needs: Needs["needs"] }) {
  const { t } = useSpeech();
  const kinds = new Set(needs.map((one) => one.kind));
  const calm = (["interrupted", "missed", "worker"] as const).filter((kind) => !kinds.has(kind));
  if (calm.length === 0) return null;
  return (
    <p className="calm">
      <Icon of="completed" />
      {t("needs.calm", { what: calm.map((kind) => t(`needs.calm.${kind}`)).join(", ") })}
    </p>
  );
}

function Facts({ stats }: { stats: Now | undefined }) {
  const { t, count, span, num } = useSpeech();
  const now = useNow();
  const counts = stats?.status ?? {};
  const under = (status: string) => {
    if (!stats) return "\u00a0";
    if (status === "pending")
      return stats.oldest
        ? t("facts.oldest", { span: span((now - Date.parse(stats.oldest)) / 1000) })
        : t("facts.noneDue");
    if (status === "running") return t("facts.slots", { n: stats.held, all: stats.slots });
    return isFinal(status) ? t("facts.all.kept") : "\u00a0";
  };
  const there = (status: string) => (counts[status]?.number ?? 0) > 0;
  const shown = TILES.filter(
    (status) => there(status) || (ALWAYS.has(status) && !(status === "awaiting_input" && there("awaiting_mapping"))),
  );
  return (
    <nav className={`facts ${shown.length > 8 ? "many" : ""}`} aria-label={t("facts.label")}>
      {shown.map((status) => {
        const found = counts[status];
        return (
          <Link key={status} to="/jobs" search={{ q: `status:${status}` }} className={found?.number ? "" : "zero"}>
            <StatusTag status={status} />
            <b>{stats ? count(found?.number ?? 0, !found?.more) : num(null)}</b>
            <small>{under(status)}</small>
          </Link>
        );
      })}
    </nav>
  );
}

function Flow({ stats }: { stats: Now | undefined }) {
  const { t, span, num } = useSpeech();
  const now = useNow();
  const workers = useLook<Workers>("workers", { limit: 20 });
  const known = workers.data?.workers.filter((worker) => worker.state !== "stopped") ?? [];
  const due = stats?.queues.reduce((sum, queue) => sum + queue.due, 0);
  const later = stats?.queues.reduce((sum, queue) => sum + queue.later, 0) ?? 0;
  return (
    <section className="card" aria-labelledby="h-flow">
      <div className="card-head">
        <h2 id="h-flow">{t("flow.title")}</h2>
        <span className="end small dim">
          {stats?.drained_in ? t("flow.drained", { span: span(stats.drained_in) }) : ""}
        </span>
      </div>
      <dl className="flow">
        <div>
          <dt>{t("flow.oldest")}</dt>
          <dd>{stats ? (stats.oldest ? span((now - Date.parse(stats.oldest)) / 1000) : "–") : " "}</dd>
        </div>
        <div>
          <dt>{t("flow.waiting")}</dt>
          <dd>{num(due)}</dd>
        </div>
        <div>
          <dt>{t("flow.slots")}</dt>
          <dd>
            {num(stats?.held)} <span className="dim small">/ {num(stats?.slots)}</span>
          </dd>
        </div>
      </dl>
      <div className="card-body">
        {stats?.living === 0 && (
          <Note tone="failed" icon="failed">
            {t("flow.noworker")}
          </Note>
        )}
        {(stats?.paused.length ?? 0) > 0 && <Note>{t("flow.paused", { queues: stats!.paused.join(", ") })}</Note>}
        {later > 0 && <Note>{t("flow.later", { n: later })}</Note>}
        {(stats?.behind ?? 0) > 0 && <Note>{t("flow.behind", { n: stats!.behind })}</Note>}
        {(stats?.alone ?? 0) > 0 && <Note>{t("flow.alone", { n: stats!.alone })}</Note>}
      </div>
      <div className="card-head">
        <h2>{t("nav.workers")}</h2>
        <Link className="small end" to="/workers">
          {t("all")}
        </Link>
      </div>
      <div className="card-body">
        <ul className="mini">
          {known.slice(0, 5).map((worker) => {
            const alive = ["alive", "stopping", "leaving"].includes(worker.state);
            const lost = worker.state === "dead" || worker.silent;
            return (
              <li key={worker.id}>
                <span className={lost ? "interrupted fg" : ""}>
                  <Icon of={lost ? "interrupted" : "workers"} />
                </span>
                <span>
                  <b>{worker.host}</b> <span className="dim">pid {worker.pid}</span>
                </span>
                <span className={`end ${lost ? "interrupted fg" : ""}`}>
                  {alive && worker.beat_at
                    ? `${t("worker.beat", { span: span((now - Date.parse(worker.beat_at)) / 1000) })} · ${worker.held}/${worker.slots}`
                    : t(worker.state === "dead" ? "worker.dead" : "worker.stopped")}
                </span>
              </li>
            );
          })}
          {workers.data && known.length === 0 && <li className="dim">{t("worker.none")}</li>}
        </ul>
      </div>
    </section>
  );
}

function Soon() {
  const { t, span } = useSpeech();
  const now = useNow();
  const query = useLook<ScheduleList>("schedules", {}, { every: 10_000 });
  const soon = (query.data?.schedules ?? [])
    .filter((one) => one.next && one.state === "active")
    .sort((a, b) => a.next!.at.localeCompare(b.next!.at));
  if (soon.length === 0) return null;
  return (
    <Card
      title={t("soon.title")}
      end={
        <Link className="small" to="/schedules">
          {t("all")}
        </Link>
      }
    >
      <div className="card-body">
        <ul className="mini">
          {soon.slice(0, 5).map((one) => (
            <li key={one.name}>
              <Icon of="schedules" />
              <Link to="/schedules/$name" params={{ name: one.name }}>
                {one.name}
              </Link>
              <span className="end">
                {t("in", { span: span(Math.max(0, (Date.parse(one.next!.at) - now) / 1000)) })}
              </span>
            </li>
          ))}
        </ul>
      </div>
    </Card>
  );
}

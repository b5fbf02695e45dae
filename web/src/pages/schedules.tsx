/* Schedules: what runs by the clock, what was missed and why. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTopic } from "../api/live";
import { useLook, useMay } from "../api/queries";
import type { Missed, ScheduleLine, ScheduleList } from "../api/types";
import { useSpeech } from "../i18n";
import { useNow } from "../lib/pulse";
import { Button, Card, Empty, Head, Icon, Note, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { ProblemNote } from "../parts/problem";
import { ScheduleDialog } from "../parts/scheduleform";
import { StatusTag } from "../parts/status";

export function ScheduleState({ one }: { one: ScheduleLine }) {
  const { t, tWord } = useSpeech();
  if (one.problem)
    return (
      <span className="st failed">
        <Icon of="failed" />
        <span>{t("schedule.broken")}</span>
      </span>
    );
  const tone = one.state === "active" ? "pending" : "paused";
  return (
    <span className={`st ${tone}`}>
      <Icon of={one.state === "active" ? "schedules" : one.state === "paused" ? "paused" : "cancelled"} />
      <span>{tWord("schedule.state", one.state)}</span>
    </span>
  );
}

export function Schedules() {
  const { t } = useSpeech();
  usePlace({ text: t("nav.schedules") });
  useTopic("schedules", {});
  const may = useMay("admin");
  const [adding, setAdding] = useState(false);
  const query = useLook<ScheduleList>("schedules");
  const found = query.data?.schedules ?? [];
  const paused = found.filter((one) => one.state === "paused").length;
  return (
    <>
      <Head
        title={t("schedules.title")}
        sub={query.data ? t("schedules.sub", { n: found.length, paused }) : " "}
        end={
          <Button icon="plus" off={!may} onClick={() => setAdding(true)}>
            {t("schedules.add")}
          </Button>
        }
      />
      {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
      <Card title={t("nav.schedules")}>
        {query.isPending && <Waiting />}
        {query.data && found.length === 0 && <Empty title={t("schedules.none")}>{t("schedules.none.how")}</Empty>}
        {found.length > 0 && <Table rows={found} />}
        {(query.data?.declared_only.length ?? 0) > 0 && (
          <div className="card-body">
            <Note>{t("schedules.declared", { names: query.data!.declared_only.join(", ") })}</Note>
          </div>
        )}
      </Card>
      <MissedCard />
      {adding && <ScheduleDialog onClose={() => setAdding(false)} />}
    </>
  );
}

function Table({ rows }: { rows: ScheduleLine[] }) {
  const { t, lang, span, moment, full } = useSpeech();
  const now = useNow();
  return (
    <table className="t cards stack schedules">
      <thead>
        <tr>
          <th scope="col">{t("workers.state")}</th>
          <th scope="col">{t("schedule.name")}</th>
          <th scope="col">{t("schedule.when")}</th>
          <th scope="col" className="num">
            {t("schedule.next")}
          </th>
          <th scope="col">{t("schedule.last")}</th>
          <th scope="col" className="num">
            {t("schedule.runs")}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((one) => (
          <tr key={one.name}>
            <td>
              <ScheduleState one={one} />
            </td>
            <td>
              <Link className="main" to="/schedules/$name" params={{ name: one.name }}>
                <b>{one.name}</b>
              </Link>
              {one.name !== one.task && (
                <>
                  <br />
                  <span className="dim small">{one.task}</span>
                </>
              )}
            </td>
            <td>
              {one.words[lang] ?? one.words.en}
              {one.edited && <span className="dim small"> · {t("schedule.edited")}</span>}
              {!one.task_known && <span className="failed fg small"> · {t("schedule.unknown")}</span>}
            </td>
            <td className="num nowrap" data-th={t("schedule.next")} title={one.next ? full(one.next.at) : undefined}>
              {one.next && one.state === "active" ? (
                t("in", { span: span(Math.max(0, (Date.parse(one.next.at) - now) / 1000)) })
              ) : (
                <span className="dim">–</span>
              )}
            </td>
            <td className="nowrap" data-th={t("schedule.last")}>
              {one.last_job && one.last_at ? (
                <Link className="quiet-link" to="/jobs/$id" params={{ id: one.last_job }}>
                  {one.last_status && <StatusTag status={one.last_status} />}
                  <span className="dim small">{moment(one.last_at, now)}</span>
                </Link>
              ) : (
                <span className="dim">–</span>
              )}
            </td>
            <td className="num" data-th={t("schedule.runs")}>
              {one.runs}
              {one.missed_in_row > 0 && (
                <span className="interrupted fg small"> · {t("schedule.missedrow", { n: one.missed_in_row })}</span>
              )}
              {one.failures_in_row > 0 && (
                <span className="failed fg small"> · {t("schedule.failedrow", { n: one.failures_in_row })}</span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function MissedCard() {
  const { t, moment } = useSpeech();
  const query = useLook<Missed>("missed", { limit: 50 }, { every: 10_000 });
  const slots = query.data?.slots ?? [];
  return (
    <Card title={t("missed.title")} sub={t("missed.sub")}>
      {query.data && slots.length === 0 && <p className="calm">{t("missed.none")}</p>}
      {slots.length > 0 && (
        <table className="t cards stack">
          <thead>
            <tr>
              <th scope="col">{t("missed.planned")}</th>
              <th scope="col">{t("schedule.name")}</th>
              <th scope="col">{t("missed.why")}</th>
            </tr>
          </thead>
          <tbody>
            {slots.slice(0, 20).map((slot) => (
              <tr key={slot.schedule + slot.planned.at}>
                <td className="nowrap" data-th={t("missed.planned")}>
                  {moment(slot.planned.at)}
                  {slot.through ? ` … ${moment(slot.through)}` : ""}
                </td>
                <td>
                  <Link to="/schedules/$name" params={{ name: slot.schedule }}>
                    {slot.schedule}
                  </Link>
                </td>
                <td className="soft">
                  {slot.reason ?? "–"}
                  {slot.job && (
                    <>
                      {" "}
                      <Link to="/jobs/$id" params={{ id: slot.job }}>
                        {t("who.job")}
                      </Link>
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

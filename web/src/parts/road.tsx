/* The road of a job: its states in order, each with its time, reason and actor; detours are drawn lower. */
import { useState } from "react";
import type { JobWhole } from "../api/types";
import { useSpeech } from "../i18n";
import { folded, isDetour, lasted, road, type Station, totals } from "../lib/road";
import { isFinal, shapeOf } from "../lib/words";
import { Button, Card, Icon } from "./basic";
import { StatusTag, useActor } from "./status";

const MOST = 8;

export function Road({ job, now }: { job: JobWhole; now: number }) {
  const { t, span } = useSpeech();
  const [open, setOpen] = useState(false);
  const stations = road(job.timeline, job.attempts);
  const sum = totals(stations, now);
  const { head, hidden, end } = folded(stations, MOST);
  const shown = open ? stations : [...head, ...end];
  const gap = !open && hidden > 0 ? head.length : -1;
  return (
    <Card
      title={t("road.title")}
      end={
        <span className="small soft">
          {t(isFinal(job.status) ? "road.ended" : "road.going", { whole: span(sum.whole), work: span(sum.work) })}
        </span>
      }
    >
      <div className="card-body">
        <div className={`road ${open && stations.length > MOST ? "long" : ""}`}>
          <Rail stations={shown} gap={gap} />
          <ol className="trail">
            {shown.map((one, index) => (
              <Stop
                key={`${one.at}${one.status}${index}`}
                one={one}
                now={now}
                last={index === shown.length - 1}
                job={job}
              />
            ))}
          </ol>
        </div>
        {hidden > 0 && (
          <Button look="quiet" onClick={() => setOpen(!open)}>
            {open ? t("road.fold") : t("road.unfold", { n: hidden })}
          </Button>
        )}
      </div>
      <Trail job={job} />
    </Card>
  );
}

/** Each line of it, those too that were no change of state. */
function Trail({ job }: { job: JobWhole }) {
  const { t, tWord, full, error } = useSpeech();
  const actor = useActor();
  return (
    <details className="card-body">
      <summary>{t("road.trail", { n: job.timeline.length })}</summary>
      <table className="t cards stack">
        <tbody>
          {job.timeline.map((line, index) => (
            <tr key={index}>
              <td className="nowrap dim">{full(line.at)}</td>
              <td className="nowrap">
                <b>{tWord("event", line.name)}</b>
              </td>
              <td>{line.to && <StatusTag status={line.to} />}</td>
              <td className="soft break">
                {[line.reason && error(line.reason), line.actor && actor(line.actor)].filter(Boolean).join(", ")}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

const Y = { straight: 17, low: 71 };

function Rail({ stations, gap }: { stations: readonly Station[]; gap: number }) {
  const n = stations.length;
  const x = (index: number) => index * 100 + 50;
  const y = (index: number) => (isDetour(stations[index]!.status) ? Y.low : Y.straight);
  const ways: string[] = [];
  const ghosts: string[] = [];
  for (let i = 0; i < n - 1; i += 1) {
    const [ax, ay, bx, by] = [x(i), y(i), x(i + 1), y(i + 1)];
    if (i + 1 === gap) ghosts.push(`M${ax} ${ay}H${bx}`);
    else ways.push(ay === by ? `M${ax} ${ay}H${bx}` : `M${ax} ${ay}C${ax + 60} ${ay} ${bx - 60} ${by} ${bx} ${by}`);
    const after = i + 2;
    if (after < n && y(i) === Y.straight && y(i + 1) === Y.low && y(after) === Y.straight)
      ghosts.push(`M${ax} ${ay}H${x(after)}`);
  }
  return (
    <svg className="rail" viewBox={`0 0 ${n * 100} 96`} preserveAspectRatio="none" aria-hidden="true">
      {ghosts.map((way) => (
        <path key={way} className="ghost" d={way} />
      ))}
      {ways.map((way) => (
        <path key={way} d={way} />
      ))}
    </svg>
  );
}

function Stop({ one, now, last, job }: { one: Station; now: number; last: boolean; job: JobWhole }) {
  const { tWord, span, clock, full, t } = useSpeech();
  const why = useWhy(job);
  const ended = last && isFinal(one.status);
  const length = lasted(one, now);
  const timed = one.status !== "created" && !ended && length >= 0.05;
  return (
    <li
      className={`${one.status === "created" ? "plain" : one.status} ${isDetour(one.status) ? "dip" : ""} ${ended ? "last" : ""}`}
    >
      <span className="node">
        <Icon of={one.status === "created" ? "plus" : shapeOf(one.status)} />
      </span>
      <b>
        {tWord(one.until !== null && one.status !== "created" ? "past" : "status", one.status)}
        {timed && ` ${span(length)}`}
      </b>
      <time dateTime={one.at} title={full(one.at)}>
        {clock(one.at)}
      </time>
      <span className="by" title={why(one)}>
        {why(one)}
        {last && !ended && one.status === "running" ? <span className="vh"> {t("road.now")}</span> : null}
      </span>
    </li>
  );
}

/** Why, and through whom, in one short line. */
function useWhy(job: JobWhole): (one: Station) => string {
  const { t, tWord, error } = useSpeech();
  const actor = useActor();
  return (one) => {
    if (one.status === "created")
      return [actor(one.actor), one.reason].filter((part) => part && part !== "–").join(", ");
    if (one.status === "running")
      return [
        one.attempt ? t("road.attempt", { n: one.attempt }) : "",
        one.worker ? t("road.worker", { id: one.worker.slice(-4) }) : "",
      ]
        .filter(Boolean)
        .join(", ");
    const who = one.actor && one.actor !== "worker" ? actor(one.actor) : "";
    if (one.status === "partial" && job.items.failed) return t("road.partial", { n: job.items.failed });
    if (one.status === "pending" && one.event === "submitted") return job.waits_for ? t("told.behind") : "";
    const event = tWord("event", one.event);
    const said = one.reason && one.event !== "asked" ? error(one.reason) : one.event === "finished" ? "" : event;
    return [said, who].filter(Boolean).join(", ");
  };
}

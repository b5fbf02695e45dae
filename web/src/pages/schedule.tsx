/* One schedule: its rule in words, next twenty times with offset, what became of the last ones, what was changed. */
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { inPath, post, send } from "../api/client";
import { useFresh, useLook, useMay } from "../api/queries";
import type { ScheduleShape, Started } from "../api/types";
import { useSpeech } from "../i18n";
import { useNow } from "../lib/pulse";
import { capital } from "../lib/words";
import { Button, Card, Empty, Icon, Json, Note, Rows, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { ActionDialog } from "../parts/dialog";
import { ProblemNote } from "../parts/problem";
import { ScheduleDialog } from "../parts/scheduleform";
import { useActor } from "../parts/status";
import { ScheduleState } from "./schedules";

export function Schedule() {
  const { name } = useParams({ from: "/schedules/$name" });
  const { t } = useSpeech();
  const query = useLook<ScheduleShape>(`schedules/${inPath(name)}`, {}, { keep: false, every: 5000 });
  usePlace({ text: t("nav.schedules"), to: "/schedules" }, { text: name });
  if (query.error && !query.data) return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <Waiting />;
  return <One one={query.data} />;
}

function One({ one }: { one: ScheduleShape }) {
  const { t, lang, span } = useSpeech();
  const now = useNow();
  const actor = useActor();
  return (
    <>
      <div className="page-head">
        <div>
          <div className="job-title">
            <ScheduleState one={one} />
            <h1>{one.name}</h1>
            {one.task !== one.name && <span className="soft mono">{one.task}</span>}
          </div>
          <p className="verdict">
            <b>{capital(one.words[lang] ?? one.words.en ?? "")}.</b>{" "}
            {one.state === "active" && one.next
              ? t("schedule.next.in", { span: span(Math.max(0, (Date.parse(one.next.at) - now) / 1000)) })
              : one.paused
                ? t("schedule.paused.by", {
                    who: actor(one.paused.by),
                    why: one.paused.reason ? one.paused.reason : "–",
                  })
                : ""}
          </p>
        </div>
      </div>
      {one.problem && (
        <Note tone="failed" icon="failed">
          {one.problem}
        </Note>
      )}
      <div className="grid g-2-1 split">
        <div className="grid">
          <Slots one={one} />
          {one.drift && <DriftCard drift={one.drift} />}
          <Trail one={one} />
        </div>
        <div className="grid">
          <Steer one={one} />
          <Following one={one} />
          <Definition one={one} />
        </div>
      </div>
    </>
  );
}

function Slots({ one }: { one: ScheduleShape }) {
  const { t, tWord, moment } = useSpeech();
  return (
    <Card title={t("slots.title")} sub={t("slots.sub", { n: one.runs })} className="o3">
      {one.slots.length === 0 && <Empty title={t("slots.none")} />}
      {one.slots.length > 0 && (
        <table className="t cards stack">
          <thead>
            <tr>
              <th scope="col">{t("missed.planned")}</th>
              <th scope="col">{t("slots.became")}</th>
              <th scope="col">{t("missed.why")}</th>
            </tr>
          </thead>
          <tbody>
            {one.slots.map((slot) => (
              <tr key={slot.planned.at}>
                <td className="nowrap" data-th={t("missed.planned")}>
                  {moment(slot.planned.at)}
                  {slot.through ? ` … ${moment(slot.through)}` : ""}
                </td>
                <td>
                  <span className={`st ${slot.state === "missed" ? "interrupted" : "completed"}`}>
                    <Icon of={slot.state === "missed" ? "interrupted" : "check"} />
                    <span>{tWord("slot.state", slot.state)}</span>
                  </span>
                </td>
                <td className="soft">
                  {slot.reason ?? ""}{" "}
                  {slot.job && (
                    <Link to="/jobs/$id" params={{ id: slot.job }}>
                      {t("slots.job")}
                    </Link>
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

function Following({ one }: { one: ScheduleShape }) {
  const { t } = useSpeech();
  return (
    <Card title={t("following.title")} sub={one.zone} className="o4">
      <div className="card-body">
        {one.following.length === 0 && <p className="dim small">{t("following.none")}</p>}
        <ol className="following mono">
          {one.following.map((at) => (
            <li key={at.at}>
              {at.local.slice(0, 10)} <b>{at.local.slice(11, 16)}</b>{" "}
              <span className="dim">{at.local.replace(/^.{19}(\.\d+)?/, "")}</span>
            </li>
          ))}
        </ol>
      </div>
    </Card>
  );
}

function Definition({ one }: { one: ScheduleShape }) {
  const { t, tWord } = useSpeech();
  const [kind, ...rest] = one.origin.split(":");
  const rows: [ReactNode, ReactNode][] = [
    [t("schedule.origin"), `${tWord("origin", kind!)}${rest.length ? ` ${rest.join(":")}` : ""}`],
    [t("task.zone"), one.zone],
  ];
  if (one.definition) rows.push([t("schedule.definition"), <Json key="definition" value={one.definition} />]);
  return (
    <Card title={t("facts.title")} className="o5">
      <div className="card-body">
        <Rows rows={rows} />
      </div>
    </Card>
  );
}

function DriftCard({ drift }: { drift: NonNullable<ScheduleShape["drift"]> }) {
  const { t, moment } = useSpeech();
  const actor = useActor();
  return (
    <Card
      title={t("drift.title")}
      sub={[actor(drift.by), drift.at ? moment(drift.at) : null, drift.reason].filter(Boolean).join(" · ")}
    >
      <table className="t cards stack">
        <thead>
          <tr>
            <th scope="col">{t("drift.word")}</th>
            <th scope="col">{t("drift.code")}</th>
            <th scope="col">{t("drift.now")}</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(drift.changes).map(([word, change]) => (
            <tr key={word}>
              <td className="mono">{word}</td>
              <td>
                <Json value={change.declared} />
              </td>
              <td>
                <Json value={change.edited} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Trail({ one }: { one: ScheduleShape }) {
  const { t, tWord, moment } = useSpeech();
  const actor = useActor();
  if (one.trail.length === 0) return null;
  return (
    <Card title={t("schedule.trail")} className="o6">
      <table className="t cards stack">
        <tbody>
          {one.trail.slice(0, 20).map((line) => (
            <tr key={line.at + line.name}>
              <td className="nowrap dim">{moment(line.at)}</td>
              <td>
                <b>{tWord("event", line.name)}</b>
              </td>
              <td>{actor(line.actor)}</td>
              <td className="soft break">{line.reason ? line.reason : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

/** Of a button that leads to a dialog, as the dialog itself says it. */
const short = (text: string) => text.replace("…", "");

type Open = "pause" | "resume" | "run-now" | "take-code" | "remove" | "edit" | null;

function Steer({ one }: { one: ScheduleShape }) {
  const { t } = useSpeech();
  const operator = useMay("operator");
  const admin = useMay("admin");
  const fresh = useFresh();
  const navigate = useNavigate();
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  const path = `schedules/${inPath(one.name)}`;
  const done = () => void fresh();
  const paused = one.state === "paused";
  const goes = one.state === "active" || paused;
  return (
    <Card title={t("actions.title")} className="o2">
      <ul className="acts-list">
        <li>
          <Button className="wide" icon="arrow" off={!operator || !one.task_known} onClick={() => setOpen("run-now")}>
            {t("schedule.run")}
          </Button>
          <p>{operator ? t("schedule.run.words") : t("may.operator")}</p>
        </li>
        <li>
          <Button
            className="wide"
            icon={paused ? "right" : "paused"}
            off={!operator || !goes}
            onClick={() => setOpen(paused ? "resume" : "pause")}
          >
            {t(paused ? "schedule.resume" : "schedule.pause")}
          </Button>
          <p>{t(paused ? "schedule.resume.words" : "schedule.pause.words")}</p>
        </li>
        <li>
          <Button className="wide" icon="schedules" off={!admin} onClick={() => setOpen("edit")}>
            {t("schedule.edit")}
          </Button>
          <p>{admin ? t("schedule.edit.words") : t("may.admin")}</p>
        </li>
        {one.edited && (
          <li>
            <Button className="wide" icon="rerun" off={!admin} onClick={() => setOpen("take-code")}>
              {t("schedule.code")}
            </Button>
            <p>{t("schedule.code.words")}</p>
          </li>
        )}
        {(one.origin === "person" || one.state === "retired" || one.state === "finished") && (
          <li>
            <Button className="wide danger" icon="x" off={!admin} onClick={() => setOpen("remove")}>
              {t("schedule.remove")}
            </Button>
            <p>{t("schedule.remove.words")}</p>
          </li>
        )}
      </ul>
      {open === "run-now" && (
        <ActionDialog
          title={short(t("schedule.run"))}
          says={t("schedule.run.words")}
          verb={short(t("schedule.run"))}
          run={(act) => post<Started>(`${path}/run-now`, { reason: act.reason || null }, act.key)}
          onDone={(found) => void navigate({ to: "/jobs/$id", params: { id: (found as Started).job } })}
          onClose={close}
        />
      )}
      {(open === "pause" || open === "resume") && (
        <ActionDialog
          title={short(t(open === "pause" ? "schedule.pause" : "schedule.resume"))}
          says={t(open === "pause" ? "schedule.pause.words" : "schedule.resume.words")}
          verb={t(open === "pause" ? "queues.pause.verb" : "queues.resume.verb")}
          run={(act) => post(`${path}/${open}`, { reason: act.reason || null }, act.key)}
          onDone={done}
          onClose={close}
        />
      )}
      {open === "take-code" && (
        <ActionDialog
          title={short(t("schedule.code"))}
          says={t("schedule.code.words")}
          verb={short(t("schedule.code"))}
          run={(act) => post(`${path}/take-code`, { reason: act.reason || null }, act.key)}
          onDone={done}
          onClose={close}
        />
      )}
      {open === "remove" && (
        <ActionDialog
          title={short(t("schedule.remove"))}
          says={t("schedule.remove.words")}
          verb={short(t("schedule.remove"))}
          danger
          run={(act) => send("DELETE", `${path}${act.reason ? `?reason=${encodeURIComponent(act.reason)}` : ""}`)}
          onDone={() => void navigate({ to: "/schedules" })}
          onClose={close}
        />
      )}
      {open === "edit" && <ScheduleDialog one={one} onClose={close} />}
    </Card>
  );
}

/* One question: what is asked, and what hangs on it? A form, or the mapping of columns to fields. */
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTopic } from "../api/live";
import { useLook } from "../api/queries";
import type { Question as Asked } from "../api/types";
import { useSpeech } from "../i18n";
import { Card, Json, Note, Rows, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { Deadline } from "../parts/deadline";
import { later } from "../parts/later";
import { ProblemNote } from "../parts/problem";
import { StatusTag, useActor } from "../parts/status";

const AnswerForm = later(async () => (await import("../parts/answerform")).default);
const MappingEditor = later(async () => (await import("../parts/mapping")).default);

export function Question() {
  const { id } = useParams({ from: "/questions/$id" });
  const { t } = useSpeech();
  const query = useLook<Asked>(`questions/${id}`, {}, { keep: false, every: 10_000 });
  useTopic("questions", {});
  const asked = query.data;
  usePlace(
    { text: t("nav.questions"), to: "/questions" },
    { text: asked?.file ?? asked?.source ?? asked?.name ?? "…" },
  );
  if (query.error && !asked) return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
  if (!asked) return <Waiting />;
  return <One key={asked.id} asked={asked} />;
}

function One({ asked }: { asked: Asked }) {
  const { t, tWord } = useSpeech();
  const navigate = useNavigate();
  const actor = useActor();
  const isMapping = asked.mapping !== null;
  const done = () => void navigate({ to: "/jobs/$id", params: { id: asked.job } });
  const closed = asked.state !== "open";
  const side = <Who asked={asked} />;
  const head: ReactNode = (
    <div className="page-head">
      <div>
        <div className="job-title">
          <StatusTag status={isMapping ? "awaiting_mapping" : "awaiting_input"} look="badge big" />
          <h1>{asked.text}</h1>
        </div>
        <p className="verdict">
          {closed ? (
            <>
              <b>{tWord("question.state", asked.state)}</b> {asked.actor ? actor(asked.actor) : ""} {asked.reason ?? ""}
            </>
          ) : (
            <Deadline at={asked.expires_at} fallback={asked.has_default} />
          )}
        </p>
      </div>
    </div>
  );
  if (closed)
    return (
      <>
        {head}
        <div className="grid g-map">
          <Card title={t("question.given")}>
            <div className="card-body">
              {asked.answer === null || asked.answer === undefined ? (
                <Note>{t("question.given.none")}</Note>
              ) : (
                <Json value={asked.answer} />
              )}
            </div>
          </Card>
          {side}
        </div>
      </>
    );
  return (
    <>
      {head}
      {isMapping ? (
        <MappingEditor asked={asked} side={side} onDone={done} />
      ) : (
        <div className="grid g-map">
          <Card title={t("question.form")}>
            <AnswerForm question={asked} onDone={done} />
          </Card>
          {side}
        </div>
      )}
    </>
  );
}

function Who({ asked }: { asked: Asked }) {
  const { t, moment, full } = useSpeech();
  const rows: [ReactNode, ReactNode][] = [
    [
      t("who.job"),
      <Link key="job" to="/jobs/$id" params={{ id: asked.job }}>
        {asked.task}
      </Link>,
    ],
  ];
  if (asked.source) rows.push([t("col.source"), asked.source]);
  if (asked.file)
    rows.push([
      t("facts.file"),
      <span key="file" className="mono">
        {asked.file}
      </span>,
    ]);
  if (asked.period) rows.push([t("facts.period"), asked.period]);
  rows.push([t("who.asked"), moment(asked.asked_at)]);
  rows.push([
    t("who.until"),
    asked.expires_at ? (
      <>
        <b title={full(asked.expires_at)}>{moment(asked.expires_at)}</b>
        <br />
        <span className="dim">{t(asked.has_default ? "who.default" : "who.fails")}</span>
      </>
    ) : (
      t("deadline.none")
    ),
  ]);
  if (asked.has_default) rows.push([t("who.taken"), <Json key="default" value={asked.default} />]);
  rows.push([t("who.slot"), t("who.free")]);
  return (
    <Card title={t("who.title")}>
      <div className="card-body">
        <Rows rows={rows} />
      </div>
    </Card>
  );
}

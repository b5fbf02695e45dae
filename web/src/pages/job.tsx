/* One job: what happened, and what can I do? The verdict, then the road, then the evidence. */
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useTopic } from "../api/live";
import { useLook } from "../api/queries";
import type { JobWhole } from "../api/types";
import { useSpeech } from "../i18n";
import { tail } from "../lib/format";
import { useKeys } from "../lib/keys";
import { useNow } from "../lib/pulse";
import { isFinal, isWaiting } from "../lib/words";
import { Actions, mainAction, newer, useAct } from "../parts/actions";
import { AnswerCard } from "../parts/answercard";
import { Attempts } from "../parts/attempts";
import { Button, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { Facts, Traceback } from "../parts/facts";
import { Items } from "../parts/items";
import { Kin } from "../parts/kin";
import { JobLog } from "../parts/log";
import { ProblemNote } from "../parts/problem";
import { ProgressCard } from "../parts/progress";
import { Road } from "../parts/road";
import { StatusTag } from "../parts/status";
import { Verdict } from "../parts/verdict";

export function Job() {
  const { id } = useParams({ from: "/jobs/$id" });
  const { t } = useSpeech();
  const [ended, setEnded] = useState(false);
  const query = useLook<JobWhole>(`jobs/${id}`, {}, { keep: false, every: ended ? 15_000 : 4000 });
  const job = query.data;
  const final = job ? isFinal(job.status) : false;
  useEffect(() => setEnded(final), [final]);
  useTopic("job", job ? { job: job.id } : null);
  usePlace({ text: t("nav.jobs"), to: "/jobs" }, { text: job ? titleOf(job, (text) => text) : tail(id) });
  if (query.error && !job) return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
  if (!job) return <Waiting />;
  return <Whole key={job.id} job={job} />;
}

function titleOf(job: JobWhole, period: (text: string) => string): string {
  const what = job.period ? period(job.period) : job.file;
  return [job.source, what].filter(Boolean).join(" · ") || job.task;
}

function Whole({ job }: { job: JobWhole }) {
  const { t, period, tWord } = useSpeech();
  const now = useNow();
  const act = useAct(job);
  const main = mainAction(job);
  const newest = newer(job);
  const title = titleOf(job, period);
  const answer = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const asked = job.questions.find((one) => one.state === "open");
  const start = (name: string) => {
    if (name === "answer" && asked?.kind === "mapping")
      void navigate({ to: "/questions/$id", params: { id: asked.id } });
    else if (name === "answer") answer.current?.scrollIntoView({ behavior: "smooth" });
    else act.open(name);
  };
  useKeys({ r: () => main && start(main.name) });
  return (
    <>
      <div className="page-head">
        <div>
          <div className="job-title">
            <StatusTag status={job.status} look="badge big" />
            <h1>{title}</h1>
            {title !== job.task && <span className="soft mono">{job.task}</span>}
          </div>
          <Verdict job={job} now={now} />
          {newest && (
            <p className="small soft">
              {t("job.newer")}{" "}
              <Link to="/jobs/$id" params={{ id: newest }}>
                …{tail(newest)}
              </Link>
            </p>
          )}
        </div>
        {main && (
          <Button look="primary" icon={act.icon(main.name)} press="r" onClick={() => start(main.name)}>
            {tWord("act", main.name, { n: main.count ?? 0 })}
          </Button>
        )}
      </div>
      {isWaiting(job.status) && (
        <div ref={answer}>
          <AnswerCard job={job} />
        </div>
      )}
      {!isFinal(job.status) && job.started_at && !isWaiting(job.status) && <ProgressCard job={job} now={now} />}
      <Road job={job} now={now} />
      <div className="grid g-2-1 split">
        <div className="grid">
          {job.status === "failed" && <Traceback job={job} />}
          <Items job={job} />
          <Attempts job={job} now={now} />
          <JobLog job={job} />
          <Kin job={job} />
        </div>
        <div className="grid">
          <Actions job={job} onAct={start} icon={act.icon} />
          <Facts job={job} />
          {job.status !== "failed" && <Traceback job={job} />}
        </div>
      </div>
      {act.dialog}
    </>
  );
}

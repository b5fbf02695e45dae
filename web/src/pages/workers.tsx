/* Workers and queues: who lives and what does it hold, what waits where, a queue paused and resumed. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { inPath, post } from "../api/client";
import { useTopic } from "../api/live";
import { useFresh, useLook, useMay } from "../api/queries";
import type { Workers as All, Queue, Queues, Worker } from "../api/types";
import { useSpeech } from "../i18n";
import { word } from "../lib/filter";
import { tail } from "../lib/format";
import { useNow } from "../lib/pulse";
import { Button, Card, Empty, Head, Icon, Note, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { ActionDialog } from "../parts/dialog";
import { LimitCard } from "../parts/limits";
import { ProblemNote } from "../parts/problem";
import { useActor } from "../parts/status";

export function Workers() {
  const { t } = useSpeech();
  usePlace({ text: t("nav.workers") });
  useTopic("workers", {});
  const query = useLook<All>("workers", { limit: 50 });
  const found = query.data;
  const [old, setOld] = useState(false);
  const living = found?.workers.filter((worker) => worker.stopped_at === null && worker.state !== "dead") ?? [];
  const gone = found?.workers.filter((worker) => !living.includes(worker)) ?? [];
  return (
    <>
      <Head
        title={t("workers.title")}
        sub={
          found
            ? t(found.living ? "workers.sub" : "workers.sub.none", {
                n: found.living,
                held: found.held,
                slots: found.slots,
              })
            : " "
        }
      />
      {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
      <QueueCard />
      <LimitCard />
      <Card title={t("workers.living")}>
        {query.isPending && <Waiting />}
        {found && living.length === 0 && <Empty title={t("worker.none")}>{t("worker.none.how")}</Empty>}
        {living.length > 0 && <Table workers={living} />}
      </Card>
      {gone.length > 0 && (
        <Card
          title={t("workers.gone")}
          sub={t("workers.gone.sub", { n: gone.length })}
          end={
            <button type="button" className="link small" aria-expanded={old} onClick={() => setOld(!old)}>
              {t(old ? "hide" : "show")}
            </button>
          }
        >
          {old && <Table workers={gone} />}
        </Card>
      )}
    </>
  );
}

function Table({ workers }: { workers: Worker[] }) {
  const { t } = useSpeech();
  return (
    <table className="t cards stack workers">
      <thead>
        <tr>
          <th scope="col">{t("workers.state")}</th>
          <th scope="col">{t("workers.process")}</th>
          <th scope="col">{t("workers.queues")}</th>
          <th scope="col" className="num">
            {t("workers.slots")}
          </th>
          <th scope="col">{t("workers.jobs")}</th>
          <th scope="col" className="num">
            {t("workers.beat")}
          </th>
        </tr>
      </thead>
      <tbody>
        {workers.map((worker) => (
          <Line key={worker.id} worker={worker} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ worker }: { worker: Worker }) {
  const { t, tWord, span, moment, full } = useSpeech();
  const now = useNow();
  const dead = worker.state === "dead";
  const tone = dead || worker.silent ? "interrupted" : worker.state === "alive" ? "completed" : "cancelled";
  const told = useTrouble();
  const trouble = Object.entries(worker.trouble);
  const held = (one: Worker) =>
    one.executor
      ? t(one.slots ? "worker.hosts" : "worker.leads", { executor: tWord("executor", one.executor) })
      : one.queues.join(", ");
  return (
    <>
      <tr>
        <td>
          <span className={`st ${tone}`}>
            <Icon of={tone === "completed" ? "completed" : tone === "interrupted" ? "interrupted" : "cancelled"} />
            <span>{worker.silent ? t("worker.silent") : tWord("worker.state", worker.state)}</span>
          </span>
        </td>
        <td>
          <b>{worker.host}</b> <span className="dim">pid {worker.pid}</span>
          <br />
          <span className="dim small" title={full(worker.started_at)}>
            {t("worker.since", { at: moment(worker.started_at, now) })} · <span className="mono">{worker.version}</span>
          </span>
        </td>
        <td data-th={t("workers.queues")}>{held(worker)}</td>
        <td className="num" data-th={t("workers.slots")}>
          {worker.held} <span className="dim">/ {worker.slots}</span>
        </td>
        <td data-th={t("workers.jobs")}>
          {worker.jobs.slice(0, 3).map((job) => (
            <span key={job.id} className="holds">
              <Link to="/jobs/$id" params={{ id: job.id }}>
                {job.task} {[job.source, job.period].filter(Boolean).join(" ") || tail(job.id)}
              </Link>{" "}
              <span className="dim">{job.started_at ? span((now - Date.parse(job.started_at)) / 1000) : ""}</span>
            </span>
          ))}
          {worker.held > 3 && (
            <Link className="dim" to="/jobs" search={{ q: `worker:${worker.id} status:active` }}>
              {t("and.more", { n: worker.held - 3 })}
            </Link>
          )}
          {worker.held === 0 && <span className="dim">–</span>}
        </td>
        <td className="num nowrap" data-th={t("workers.beat")}>
          {worker.stopped_at
            ? moment(worker.stopped_at, now)
            : worker.beat_at
              ? t("worker.beat", { span: span((now - Date.parse(worker.beat_at)) / 1000) })
              : "–"}
        </td>
      </tr>
      {trouble.length > 0 && (
        <tr className="trouble">
          <td colSpan={6}>
            <Note tone={dead ? "interrupted" : "partial"} icon="warning">
              {trouble
                .map(([name, value]) => told(name, value, worker.trouble))
                .filter(Boolean)
                .join(" · ")}
            </Note>
          </td>
        </tr>
      )}
    </>
  );
}

/** What a worker says is not well with it, or how it ended; a word that is not known here is shown as it came. */
function useTrouble(): (name: string, value: unknown, all: Worker["trouble"]) => string {
  const { t, moment } = useSpeech();
  return (name, value, all) => {
    const part = (value ?? {}) as Record<string, unknown>;
    const time = (at: unknown) => moment(typeof at === "number" ? new Date(at * 1000).toISOString() : String(at));
    if (name === "failing")
      return Object.entries(part)
        .map(([chore, why]) => t("trouble.failing", { name: chore, why: String(why) }))
        .join(" · ");
    if (name === "late" && Array.isArray(value)) return t("trouble.late", { names: value.join(", ") });
    if (name === "slots_lost") return t("trouble.slots_lost", { lost: Number(part.lost), of: Number(part.of) });
    if (name === "store_away") {
      const when = { since: time(part.since), until: time(part.until), why: String(part.why) };
      return t(part.until ? "trouble.store_away" : "trouble.store_gone", when);
    }
    if (name === "loop_blocked_since") return t("trouble.loop", { since: time(value) });
    if (name === "process_stopped_since") return t("trouble.stopped", { since: time(value) });
    if (name === "by" && ("loop_blocked_since" in all || "process_stopped_since" in all)) return "";
    if (name === "how") return String(value);
    return `${name}: ${typeof value === "object" ? JSON.stringify(value) : String(value)}`;
  };
}

/** Pending, and neither due nor for later: it waits for another job. */
const behind = (queue: Queue) => queue.behind + queue.alone;

function QueueCard() {
  const { t, tWord, num, span } = useSpeech();
  const now = useNow();
  const actor = useActor();
  const may = useMay("operator");
  const fresh = useFresh();
  const query = useLook<Queues>("queues");
  const [asked, setAsked] = useState<Queue | null>(null);
  const found = query.data?.queues;
  return (
    <Card title={t("queues.title")}>
      {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Waiting />}
      {found?.length === 0 && <Empty title={t("queues.none")} />}
      {found && found.length > 0 && (
        <table className="t cards stack">
          <thead>
            <tr>
              <th scope="col">{t("queues.name")}</th>
              <th scope="col" className="num">
                {t("queues.due")}
              </th>
              <th scope="col" className="num">
                {t("queues.later")}
              </th>
              <th scope="col" className="num">
                {t("queues.behind")}
              </th>
              <th scope="col" className="num">
                {t("status.running")}
              </th>
              <th scope="col" className="num">
                {t("queues.oldest")}
              </th>
              <th scope="col" className="num">
                {t("queues.drained")}
              </th>
              <th scope="col" className="num">
                {t("queues.workers")}
              </th>
              <th scope="col">
                <span className="vh">{t("queues.steer")}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {found.map((queue) => (
              <tr key={queue.name}>
                <td>
                  <Link to="/jobs" search={{ q: `${word("queue", queue.name)} status:active` }}>
                    <b>{queue.name}</b>
                  </Link>
                  {queue.paused && (
                    <span className="paused-why">
                      <span className="st paused">
                        <Icon of="paused" />
                        <span>{t("queues.paused")}</span>
                      </span>
                      <span className="dim small">{[actor(queue.actor), queue.reason].filter(Boolean).join(": ")}</span>
                    </span>
                  )}
                </td>
                <td data-th={t("queues.due")} className={`num ${queue.due ? "" : "dim"}`}>
                  {num(queue.due)}
                </td>
                <td data-th={t("queues.later")} className={`num ${queue.later ? "" : "dim"}`}>
                  {num(queue.later)}
                </td>
                <td
                  data-th={t("queues.behind")}
                  className={`num ${behind(queue) ? "" : "dim"}`}
                  title={t("queues.behind.title", { n: queue.behind, m: queue.alone })}
                >
                  {num(behind(queue))}
                </td>
                <td data-th={t("status.running")} className={`num ${queue.running ? "" : "dim"}`}>
                  {num(queue.running)}
                </td>
                <td className="num nowrap" data-th={t("queues.oldest")}>
                  {queue.oldest ? span((now - Date.parse(queue.oldest)) / 1000) : <span className="dim">–</span>}
                </td>
                <td className="num nowrap" data-th={t("queues.drained")}>
                  {queue.drained_in === null || queue.due === 0 ? (
                    <span className="dim">–</span>
                  ) : (
                    `≈ ${span(queue.drained_in)}`
                  )}
                </td>
                <td
                  data-th={t("queues.workers")}
                  className={`num nowrap ${queue.workers ? "" : queue.due ? "failed fg" : "dim"}`}
                >
                  {queue.executors.length > 0 && (
                    <span className="dim small">
                      {queue.executors.map((one) => tWord("executor", one)).join(", ")}{" "}
                    </span>
                  )}
                  {num(queue.workers)} <span className="dim">× {num(queue.slots)}</span>
                </td>
                <td className="num">
                  <Button off={!may} icon={queue.paused ? "right" : "paused"} onClick={() => setAsked(queue)}>
                    {t(queue.paused ? "queues.resume" : "queues.pause")}
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {asked && (
        <ActionDialog
          title={t(asked.paused ? "queues.resume.title" : "queues.pause.title", { name: asked.name })}
          says={t(asked.paused ? "queues.resume.words" : "queues.pause.words", {
            n: asked.due + asked.later + behind(asked),
          })}
          verb={t(asked.paused ? "queues.resume.verb" : "queues.pause.verb")}
          run={(act) =>
            post(
              `queues/${inPath(asked.name)}/${asked.paused ? "resume" : "pause"}`,
              { reason: act.reason || null },
              act.key,
            )
          }
          onDone={() => void fresh()}
          onClose={() => setAsked(null)}
        />
      )}
    </Card>
  );
}

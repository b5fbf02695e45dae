/* Where a job stands among others: what it came from, its re-runs, what follows it, the groups it belongs to. */
import { Link } from "@tanstack/react-router";
import type { Following, JobWhole } from "../api/types";
import { useSpeech } from "../i18n";
import { tail } from "../lib/format";
import { shapeOf } from "../lib/words";
import { Card, Icon } from "./basic";
import { Graph, useNodes } from "./graph";
import { useActor } from "./status";

export function Kin({ job }: { job: JobWhole }) {
  const { t, tWord, moment } = useSpeech();
  const actor = useActor();
  const before = [...job.reran].sort((a, b) => a.created_at.localeCompare(b.created_at));
  const chain = job.ancestors.length + job.successors.length + job.groups.length > 0;
  const mode = (word: string | null) => (word ? tWord("mode", word) : t("kin.first"));
  return (
    <>
      <Card title={t("kin.title")} className="o5">
        <div className="card-body">
          <ol className="lineage">
            {before.map((one) => (
              <li key={one.id} className={one.status}>
                <Icon of={shapeOf(one.status)} />
                <Link to="/jobs/$id" params={{ id: one.id }}>
                  {mode(one.mode)}, {tWord("status", one.status).toLowerCase()}
                </Link>
                <br />
                <span className="dim">{moment(one.created_at)}</span>
              </li>
            ))}
            <li className={`here ${job.status}`}>
              <Icon of={shapeOf(job.status)} />
              <span>{t("kin.this", { mode: mode(job.mode) })}</span>
              <br />
              <span className="dim">
                {moment(job.created_at)} · {actor(job.actor)}
                {job.reason ? ` · ${job.reason}` : ""}
              </span>
            </li>
            {job.reruns.map((one) => (
              <li key={one.id} className={one.status}>
                <Icon of={shapeOf(one.status)} />
                <Link to="/jobs/$id" params={{ id: one.id }}>
                  {mode(one.mode)}, {tWord("status", one.status).toLowerCase()}
                </Link>
                <br />
                <span className="dim">{moment(one.created_at)}</span>
              </li>
            ))}
            {job.reruns.length === 0 && (
              <li className="pending">
                <Icon of="gap" />
                <span className="dim">{t("kin.none")}</span>
              </li>
            )}
          </ol>
        </div>
      </Card>
      {chain && <Chain job={job} />}
    </>
  );
}

function Chain({ job }: { job: JobWhole }) {
  const { t, tWord } = useSpeech();
  const { ofJob } = useNodes();
  return (
    <Card title={t("chain.title")} className="o5">
      <div className="card-body">
        <Graph roots={ofJob(job)} label={t("chain.title")} />
        <ul className="chain">
          {job.ancestors.map((one) => (
            <li key={one.id}>
              <span className="dim">{t("chain.from")}</span>{" "}
              {one.group ? (
                <Link to="/groups/$id" params={{ id: one.id }}>
                  {t("chain.group", { name: one.name ?? tail(one.id) })}
                </Link>
              ) : (
                <Link to="/jobs/$id" params={{ id: one.id }}>
                  {one.name}
                </Link>
              )}
              {one.status && <span className="dim"> {tWord(one.group ? "outcome" : "status", one.status)}</span>}
            </li>
          ))}
          {job.successors.map((one) => (
            <Follower key={`${one.task}${one.job}`} one={one} />
          ))}
          {job.groups.map((group) => (
            <li key={group.id}>
              <span className="dim">{t("chain.in")}</span>{" "}
              <Link to="/groups/$id" params={{ id: group.id }}>
                {t("chain.group", { name: group.name ?? tail(group.id) })}
              </Link>{" "}
              <span className="dim">{t("chain.ended", { n: group.ended, all: group.total })}</span>
              {group.successors.length > 0 && (
                <ul className="chain">
                  {group.successors.map((one) => (
                    <Follower key={`${one.task}${one.job}`} one={one} />
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ul>
      </div>
    </Card>
  );
}

function Follower({ one }: { one: Following }) {
  const { t, tWord } = useSpeech();
  return (
    <li>
      <span className="dim">{t("chain.then", { on: one.on.map((word) => tWord("on", word)).join(", ") })}</span>{" "}
      {one.job ? (
        <Link to="/jobs/$id" params={{ id: one.job }}>
          {one.task}
        </Link>
      ) : (
        <b>{one.task}</b>
      )}{" "}
      <span className="dim">
        {one.status ? tWord("status", one.status) : tWord("chain", one.state)}
        {one.reason ? `: ${one.reason}` : ""}
      </span>
      {one.successors.length > 0 && (
        <ul className="chain">
          {one.successors.map((below) => (
            <Follower key={`${below.task}${below.job}`} one={below} />
          ))}
        </ul>
      )}
    </li>
  );
}

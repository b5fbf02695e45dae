/* One group: how its members stand, what follows them, and running again those that failed. */
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useTopic } from "../api/live";
import { useLook, useMay } from "../api/queries";
import type { GroupShape } from "../api/types";
import { useSpeech } from "../i18n";
import { word } from "../lib/filter";
import { tail } from "../lib/format";
import { useNow } from "../lib/pulse";
import { shapeOf } from "../lib/words";
import { Bar, Button, Card, Empty, Head, Icon, Waiting } from "../parts/basic";
import { BulkDialog } from "../parts/bulk";
import { usePlace } from "../parts/crumbs";
import { Graph, standing, useNodes } from "../parts/graph";
import { ProblemNote } from "../parts/problem";
import { StatusTag, useActor } from "../parts/status";

const FIRST = 50; // members that are listed before somebody asks for more
const ORDER = [
  "completed",
  "partial",
  "failed",
  "cancelled",
  "interrupted",
  "running",
  "cancelling",
  "awaiting_input",
  "awaiting_mapping",
  "pending",
];

export function Group() {
  const { id } = useParams({ from: "/groups/$id" });
  const { t } = useSpeech();
  const [settled, setSettled] = useState(false);
  const query = useLook<GroupShape>(`groups/${id}`, {}, { keep: false, every: settled ? 15_000 : 2000 });
  const group = query.data;
  const done = group !== undefined && group.ended === group.total;
  if (done !== settled) setSettled(done);
  useTopic("jobs", { filter: word("group", id), limit: 1 });
  usePlace({ text: t("nav.jobs"), to: "/jobs" }, { text: group?.name ?? tail(id) });
  if (query.error && !group) return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
  if (!group) return <Waiting />;
  return <Whole key={group.id} group={group} />;
}

function Whole({ group }: { group: GroupShape }) {
  const { t, tWord, moment, num } = useSpeech();
  const actor = useActor();
  const may = useMay("operator");
  const { group: node } = useNodes();
  const [retry, setRetry] = useState(false);
  const members = word("group", group.id);
  const failed = group.status.failed ?? 0;
  const shown = ORDER.filter((status) => group.status[status]);
  return (
    <>
      <Head
        title={t("group.title", { name: group.name ?? tail(group.id) })}
        before={<StatusTag status={standing(group)} look="badge big" />}
        sub={
          <>
            {t("chain.ended", { n: group.ended, all: group.total })} ·{" "}
            {[t("group.made", { at: moment(group.created_at) }), group.actor && actor(group.actor)]
              .filter(Boolean)
              .join(" · ")}
            {group.outcome && ` · ${t("group.outcome", { outcome: tWord("outcome", group.outcome) })}`}
          </>
        }
        end={
          <Button look="primary" icon="rerun" off={!may || failed === 0} onClick={() => setRetry(true)}>
            {t("group.retry", { n: failed })}
          </Button>
        }
      />
      <Card title={t("group.progress")}>
        <div className="card-body">
          <Bar
            thick
            parts={shown.map((status) => ({ name: status, share: (group.status[status] ?? 0) / group.total }))}
          />
          <nav className="facets" aria-label={t("col.status")}>
            {shown.map((status) => (
              <Link key={status} className={status} to="/jobs" search={{ q: `${members} status:${status}` }}>
                <Icon of={shapeOf(status)} />
                {tWord("status", status)} <b>{num(group.status[status])}</b>
              </Link>
            ))}
            <Link to="/jobs" search={{ q: members }}>
              {t("group.all", { n: group.total })}
            </Link>
          </nav>
        </div>
      </Card>
      <Card title={t("chain.title")}>
        <div className="card-body">
          <Graph roots={[node(group, true)]} label={t("chain.title")} />
        </div>
      </Card>
      <Members group={group} />
      {retry && (
        <BulkDialog
          name="retry"
          chosen={{ filter: `${members} status:failed` }}
          onClose={() => setRetry(false)}
          onDone={() => setRetry(false)}
        />
      )}
    </>
  );
}

function Members({ group }: { group: GroupShape }) {
  const { t, moment, span } = useSpeech();
  const now = useNow();
  const [most, setMost] = useState(FIRST);
  const rows = group.members.slice(0, most);
  const more = group.members.length - rows.length;
  return (
    <Card title={t("group.members")} sub={t("group.order")}>
      {group.total === 0 && <Empty title={t("group.none")} />}
      {rows.length > 0 && (
        <table className="t cards stack">
          <thead>
            <tr>
              {(["col.status", "col.task", "col.source", "col.period", "col.started", "col.took"] as const).map(
                (name) => (
                  <th
                    key={name}
                    scope="col"
                    className={name === "col.took" || name === "col.started" ? "num" : undefined}
                  >
                    {t(name)}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => (
              <tr key={one.job}>
                <td>
                  <StatusTag status={one.status ?? "pending"} />
                </td>
                <td>
                  {one.removed ? (
                    <span className="dim">{t("group.removed")}</span>
                  ) : (
                    <Link className="main" to="/jobs/$id" params={{ id: one.job }}>
                      {one.task}
                    </Link>
                  )}
                </td>
                <td data-th={t("col.source")}>{one.source ?? <span className="dim">–</span>}</td>
                <td data-th={t("col.period")}>{one.period ?? one.file ?? <span className="dim">–</span>}</td>
                <td className="num nowrap" data-th={t("col.started")}>
                  {one.started_at ? moment(one.started_at, now) : <span className="dim">–</span>}
                </td>
                <td className="num nowrap" data-th={t("col.took")}>
                  {one.started_at
                    ? span(((one.finished_at ? Date.parse(one.finished_at) : now) - Date.parse(one.started_at)) / 1000)
                    : "–"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {more > 0 ? (
        <div className="foot">
          <Button onClick={() => setMost(group.members.length)}>{t("and.more", { n: more })}</Button>
        </div>
      ) : (
        group.next !== null && (
          <div className="foot">
            <Link to="/jobs" search={{ q: word("group", group.id) }}>
              {t("group.rest", { n: group.total - group.members.length })}
            </Link>
          </div>
        )
      )}
    </Card>
  );
}

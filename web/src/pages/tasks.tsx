/* Tasks: which there are, how each stands, and starting a job of one. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useLook } from "../api/queries";
import type { TaskList } from "../api/types";
import { useSpeech } from "../i18n";
import { word } from "../lib/filter";
import { Card, Empty, Head, Icon, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { ProblemNote } from "../parts/problem";
import { StatusTag } from "../parts/status";

export function Tasks() {
  const { t, moment, num } = useSpeech();
  usePlace({ text: t("nav.tasks") });
  const [typed, setTyped] = useState("");
  const query = useLook<TaskList>("tasks", {}, { every: 10_000 });
  const all = query.data?.tasks ?? [];
  const found = all.filter((task) => task.name.toLowerCase().includes(typed.trim().toLowerCase()));
  return (
    <>
      <Head title={t("tasks.title")} sub={query.data ? t("tasks.sub", { n: all.length }) : " "} />
      {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
      <Card
        title={t("nav.tasks")}
        end={
          <label className="field">
            <Icon of="search" />
            <input
              value={typed}
              aria-label={t("tasks.find")}
              placeholder={t("tasks.find")}
              onChange={(event) => setTyped(event.target.value)}
            />
          </label>
        }
      >
        {query.isPending && <Waiting />}
        {query.data && found.length === 0 && (
          <Empty title={t(all.length ? "jobs.none.match" : "tasks.none")}>
            {all.length ? null : t("tasks.none.how")}
          </Empty>
        )}
        {found.length > 0 && (
          <table className="t cards stack tasks">
            <thead>
              <tr>
                <th scope="col">{t("col.task")}</th>
                <th scope="col">{t("tasks.about")}</th>
                <th scope="col">{t("tasks.last")}</th>
                <th scope="col" className="num">
                  {t("nav.schedules")}
                </th>
                <th scope="col">
                  <span className="vh">{t("tasks.start")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {found.map((task) => (
                <tr key={task.name}>
                  <td>
                    <Link className="main" to="/jobs" search={{ q: word("task", task.name) }}>
                      <b>{task.name}</b>
                    </Link>
                    <br />
                    <span className="dim small">
                      {[task.kind, task.queue && task.queue !== "default" ? task.queue : null]
                        .filter(Boolean)
                        .join(" · ")}
                    </span>
                  </td>
                  <td className="soft">
                    {task.known ? (
                      (task.description ?? <span className="dim">–</span>)
                    ) : (
                      <span className="dim">{t("tasks.unknown")}</span>
                    )}
                  </td>
                  <td className="nowrap" data-th={t("tasks.last")}>
                    {task.last ? (
                      <Link className="quiet-link" to="/jobs/$id" params={{ id: task.last.id }}>
                        <StatusTag status={task.last.status} />
                        <span className="dim small">{moment(task.last.finished_at ?? task.last.created_at)}</span>
                      </Link>
                    ) : (
                      <span className="dim">–</span>
                    )}
                  </td>
                  <td className="num" data-th={t("nav.schedules")}>
                    {task.schedules ? num(task.schedules) : <span className="dim">0</span>}
                  </td>
                  <td className="num">
                    {task.known ? (
                      <Link className="btn" to="/tasks/$name" params={{ name: task.name }}>
                        {t("tasks.start")}
                      </Link>
                    ) : (
                      <span className="btn off" aria-disabled="true" title={t("tasks.unknown")}>
                        {t("tasks.start")}
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Card>
    </>
  );
}

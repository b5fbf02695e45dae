/* Audit: who did what, when and why, the newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { get } from "../api/client";
import type { Audit as Page } from "../api/types";
import { useSpeech } from "../i18n";
import { tail } from "../lib/format";
import { Button, Card, Empty, Head, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { ProblemNote } from "../parts/problem";
import { useActor } from "../parts/status";

const NAMES = [
  "submitted",
  "rerun",
  "retried",
  "cancelled",
  "stop_requested",
  "forced",
  "answered",
  "run_now",
  "queue_paused",
  "queue_resumed",
  "limit_set",
  "limit_reset",
  "schedule_paused",
  "schedule_resumed",
  "schedule_edited",
  "schedule_added",
  "schedule_removed",
  "token_created",
  "token_revoked",
  "logged_in",
  "logged_out",
  "login_failed",
  "error_acknowledged",
  "error_muted",
  "error_mended",
  "error_reopened",
  "bulk_started",
  "jobs_deleted",
  "jobs_imported",
];

export function Audit() {
  const { t, tWord, moment, full } = useSpeech();
  usePlace({ text: t("nav.audit") });
  const navigate = useNavigate();
  const asked = useSearch({ from: "/audit" });
  const actor = useActor();
  const query = useInfiniteQuery({
    queryKey: ["audit", asked.actor, asked.name],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      get<Page>("audit", { actor: asked.actor, name: asked.name, before: pageParam, limit: 50 }, signal),
    getNextPageParam: (page) => page.next,
    placeholderData: (before) => before,
    refetchInterval: 10_000,
  });
  const rows = query.data?.pages.flatMap((page) => page.entries) ?? [];
  const go = (more: { actor?: string; name?: string }) =>
    void navigate({ to: "/audit", search: { ...asked, ...more }, replace: true });
  return (
    <>
      <Head title={t("audit.title")} sub={t("audit.sub")} />
      {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
      <Card
        title={t("nav.audit")}
        end={
          <>
            <label className="field">
              <input
                key={asked.actor ?? ""}
                defaultValue={asked.actor ?? ""}
                aria-label={t("audit.who")}
                placeholder={t("audit.who")}
                onBlur={(event) => go({ actor: event.target.value.trim() || undefined })}
                onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
              />
            </label>
            <select
              className="input auto"
              aria-label={t("audit.what")}
              value={asked.name ?? ""}
              onChange={(event) => go({ name: event.target.value || undefined })}
            >
              <option value="">{t("audit.any")}</option>
              {NAMES.map((name) => (
                <option key={name} value={name}>
                  {tWord("event", name)}
                </option>
              ))}
            </select>
          </>
        }
      >
        {query.isPending && <Waiting />}
        {query.data && rows.length === 0 && (
          <Empty title={t(asked.actor || asked.name ? "audit.none.match" : "audit.none")}>{t("audit.none.how")}</Empty>
        )}
        {rows.length > 0 && (
          <table className="t cards stack">
            <thead>
              <tr>
                <th scope="col">{t("audit.when")}</th>
                <th scope="col">{t("audit.who")}</th>
                <th scope="col">{t("audit.what")}</th>
                <th scope="col">{t("audit.to")}</th>
                <th scope="col">{t("reason")}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((one) => (
                <tr key={one.id}>
                  <td className="nowrap" title={full(one.at)}>
                    {moment(one.at)}
                  </td>
                  <td>
                    <button type="button" className="link" onClick={() => go({ actor: one.actor })}>
                      {actor(one.actor)}
                    </button>
                  </td>
                  <td>
                    <b>{tWord("event", one.name)}</b>
                  </td>
                  <td className="break">
                    {one.job ? (
                      <Link to="/jobs/$id" params={{ id: one.job }}>
                        {[one.task, one.source, one.period ?? one.file].filter(Boolean).join(" · ") ||
                          t("problem.job", { id: tail(one.job) })}
                      </Link>
                    ) : one.name.startsWith("schedule_") && one.target ? (
                      <Link to="/schedules/$name" params={{ name: one.target }}>
                        {one.target}
                      </Link>
                    ) : (
                      (one.target ?? <span className="dim">–</span>)
                    )}
                  </td>
                  <td className={`soft break ${one.reason ? "" : "none"}`} data-th={t("reason")}>
                    {one.reason ? one.reason : <span className="dim">–</span>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {query.hasNextPage && (
          <div className="foot">
            <span>{t("audit.shown", { n: rows.length })}</span>
            <Button onClick={() => void query.fetchNextPage()}>{t("items.more")}</Button>
          </div>
        )}
      </Card>
    </>
  );
}

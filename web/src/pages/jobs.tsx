/* Jobs: which, and in what state? A filter, counts by state, rows that stand still while one selects. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { hold, useTopic } from "../api/live";
import { jobList, PAGE } from "../api/queries";
import type { JobLine } from "../api/types";
import { useSpeech } from "../i18n";
import { useKeys } from "../lib/keys";
import { useNow } from "../lib/pulse";
import { Button, Card, Empty, Head, Waiting } from "../parts/basic";
import { BulkBar } from "../parts/bulk";
import { usePlace } from "../parts/crumbs";
import { Facets } from "../parts/facets";
import { Filter } from "../parts/filter";
import { JobTable } from "../parts/jobtable";
import { ProblemNote } from "../parts/problem";

/** Pages that have been loaded, looked at again together; what is shown stands still while `frozen`. */
function useJobs(q: string, frozen: boolean) {
  const query = useInfiniteQuery({
    ...jobList(q),
    placeholderData: (before) => before,
    refetchInterval: 5000,
  });
  const pages = query.data?.pages;
  const fresh = useMemo(() => pages?.flatMap((page) => page.jobs) ?? [], [pages]);
  const [still, setStill] = useState<JobLine[] | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown at the moment of freezing is what stays
  useEffect(() => setStill(frozen ? fresh : null), [frozen, q]);
  const rows = still ?? fresh;
  const waiting = useMemo(() => {
    if (!still) return 0;
    const known = new Map(still.map((job) => [job.id, job]));
    return fresh.filter((job) => {
      const old = known.get(job.id);
      return !old || old.status !== job.status || old.run_no !== job.run_no;
    }).length;
  }, [still, fresh]);
  return { query, rows, waiting, first: pages?.[0] };
}

export function Jobs() {
  const { t, num, count } = useSpeech();
  const q = useSearch({ from: "/jobs" }).q ?? "";
  const navigate = useNavigate();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [all, setAll] = useState(false);
  const [cursor, setCursor] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const frozen = selected.size > 0;
  const { query, rows, waiting, first } = useJobs(q, frozen);
  const now = useNow();
  usePlace({ text: t("nav.jobs") });
  useTopic("jobs", { filter: q, limit: PAGE });
  useEffect(() => hold(frozen ? waiting : null), [frozen, waiting]);
  useEffect(() => () => hold(null), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter is another list
  useEffect(() => {
    setSelected(new Set());
    setAll(false);
    setCursor(-1);
  }, [q]);

  const go = (next: string) => void navigate({ to: "/jobs", search: next ? { q: next } : {} });
  const clear = () => {
    setSelected(new Set());
    setAll(false);
  };
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setAll(false);
    setSelected(next);
  };
  const move = (by: number) => setCursor((at) => Math.max(0, Math.min(rows.length - 1, at + by)));
  const [bulk, setBulk] = useState<string | null>(null);
  useKeys({
    "/": () => input.current?.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: () => rows[cursor] && toggle(rows[cursor].id),
    Enter: () => rows[cursor] && void navigate({ to: "/jobs/$id", params: { id: rows[cursor].id } }),
    r: () => {
      if (selected.size === 0 && rows[cursor]) setSelected(new Set([rows[cursor].id]));
      if (selected.size > 0 || rows[cursor]) setBulk("rerun_failed");
    },
    Escape: clear,
  });

  const total = first?.count;
  return (
    <>
      <Head
        title={t("nav.jobs")}
        sub={total ? t("jobs.match", { n: total.number, count: count(total.number, !total.more) }) : " "}
        end={
          <Button icon="plus" onClick={() => void navigate({ to: "/tasks" })}>
            {t("jobs.start")}
          </Button>
        }
      />
      <section className="card" aria-label={t("jobs.filter")}>
        <Filter q={q} onChange={go} inputRef={input} />
        <Facets q={q} onChange={go} />
      </section>
      {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
      <Card className="jobs-card">
        {rows.length > 0 && (
          <JobTable
            rows={rows}
            now={now}
            selected={selected}
            all={all}
            cursor={cursor}
            onToggle={toggle}
            onAll={(on) => (on ? setSelected(new Set(rows.map((job) => job.id))) : clear())}
          />
        )}
        {query.isPending && <Waiting />}
        {!query.isPending && rows.length === 0 && !query.error && (
          <Empty title={t(q ? "jobs.none.match" : "jobs.none")}>
            {q ? (
              <button type="button" className="link" onClick={() => go("")}>
                {t("jobs.clear")}
              </button>
            ) : (
              t("jobs.none.how")
            )}
          </Empty>
        )}
        {rows.length > 0 && (
          <div className="foot">
            <span>
              {t("jobs.shown", { n: rows.length, all: total ? count(total.number, !total.more) : "…" })}
              {first?.note && <span> · {first.note}</span>}
            </span>
            {query.hasNextPage && (
              <Button onClick={() => void query.fetchNextPage()} off={query.isFetchingNextPage}>
                {t("jobs.more", {
                  n: Math.min(PAGE, total && !total.more ? Math.max(1, total.number - rows.length) : PAGE),
                })}
              </Button>
            )}
          </div>
        )}
      </Card>
      {frozen && (
        <BulkBar
          jobs={rows.filter((job) => selected.has(job.id))}
          q={q}
          all={all}
          total={
            total
              ? { text: count(total.number, !total.more), number: total.number }
              : { text: num(rows.length), number: rows.length }
          }
          waiting={waiting}
          onAll={() => setAll(true)}
          onClear={clear}
          open={bulk}
          onOpen={setBulk}
        />
      )}
    </>
  );
}

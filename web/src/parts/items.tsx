/* The items of a job, failed first, with their reasons; a file of them; those that are shown are an address. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { address, get, post } from "../api/client";
import { useLook } from "../api/queries";
import type { Item, ItemHistory, ItemPage, JobWhole, Stored } from "../api/types";
import { useSpeech } from "../i18n";
import { tail } from "../lib/format";
import { isFinal } from "../lib/words";
import { Bar, Button, Card, Check, Icon, Waiting } from "./basic";
import { ActionDialog } from "./dialog";
import { itemParts } from "./jobcells";
import { ProblemNote } from "./problem";

const OUTCOMES = ["failed", "ok", "skipped"] as const;
type Shown = (typeof OUTCOMES)[number];

export function Items({ job }: { job: JobWhole }) {
  const { t, num, tWord } = useSpeech();
  const asked = useSearch({ from: "/jobs/$id" }).items;
  const navigate = useNavigate();
  const numbers = { ok: job.items.ok ?? 0, failed: job.items.failed ?? 0, skipped: job.items.skipped ?? 0 };
  const all = numbers.ok + numbers.failed + numbers.skipped;
  const shown: Shown =
    OUTCOMES.find((one) => one === asked) ?? (numbers.failed > 0 || numbers.ok === 0 ? "failed" : "ok");
  if (all === 0) return null;
  // A re-run counts its own items; what earlier jobs have done is in the total of its progress too.
  const alone = job.generation === job.id;
  const rest = alone && job.progress?.total && !isFinal(job.status) ? job.progress.total - all : 0;
  return (
    <Card
      title={t("items.title")}
      className="o1"
      end={
        <>
          <nav className="tabs" aria-label={t("items.by")}>
            {OUTCOMES.map((one) => (
              <button
                key={one}
                type="button"
                aria-current={one === shown ? "true" : undefined}
                onClick={() => void navigate({ to: ".", search: { items: one }, replace: true, resetScroll: false })}
              >
                {tWord("items", one)} {num(numbers[one])}
              </button>
            ))}
          </nav>
          <a className="btn quiet" href={address(`jobs/${job.id}/items.csv`, { outcome: shown })} download>
            <Icon of="download" />
            CSV
          </a>
        </>
      }
    >
      <div className="card-body">
        <div className="tally">
          <span className={numbers.ok ? "" : "dim"}>
            <b>{num(numbers.ok)}</b>
            {t("items.ok.word")}
          </span>
          <span className={numbers.failed ? "partial fg" : "dim"}>
            <b>{num(numbers.failed)}</b>
            {t("items.failed.word")}
          </span>
          <span className={numbers.skipped ? "" : "dim"}>
            <b>{num(numbers.skipped)}</b>
            {t("items.skipped.word")}
          </span>
          {rest > 0 && (
            <span className="dim">
              <b>{num(rest)}</b>
              {t("items.left")}
            </span>
          )}
        </div>
        <Bar thick parts={itemParts(job.items)} />
      </div>
      <Table job={job} shown={shown} count={numbers[shown]} />
    </Card>
  );
}

const PAGE = 20;

function Table({ job, shown, count }: { job: JobWhole; shown: Shown; count: number }) {
  const { t } = useSpeech();
  const [size, setSize] = useState(PAGE);
  const [chosen, setChosen] = useState<ReadonlyMap<string, Place>>(new Map());
  // biome-ignore lint/correctness/useExhaustiveDependencies: other items begin short again
  useEffect(() => setSize(PAGE), [shown]);
  const query = useInfiniteQuery({
    queryKey: [`jobs/${job.id}/items`, shown],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      get<ItemPage>(`jobs/${job.id}/items`, { outcome: shown, after: pageParam, limit: 200 }, signal),
    getNextPageParam: (page) => page.next,
    enabled: count > 0,
    refetchInterval: isFinal(job.status) ? false : 4000,
  });
  if (count === 0) return <p className="calm">{t(shown === "failed" ? "items.none.failed" : "items.none")}</p>;
  if (query.error) return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <Waiting />;
  const found = query.data.pages.flatMap((page) => page.items);
  if (found.length === 0) return <p className="calm">{t("items.since")}</p>;
  const rows = found.slice(0, size);
  const may = job.actions.some((one) => one.name === "rerun_failed_items" && (one.allowed || one.code === "no-items"));
  const choose = (item: Item, on: boolean) => {
    const now = new Map(chosen);
    if (on) now.set(placeOf(item), { loop: item.loop, key: item.key });
    else now.delete(placeOf(item));
    setChosen(now);
  };
  const more = () => {
    setSize(size + 100);
    if (size + 100 > found.length && query.hasNextPage) void query.fetchNextPage();
  };
  return (
    <>
      <table className="t cards stack items">
        <thead>
          <tr>
            <th scope="col">{t("items.key")}</th>
            <th scope="col">{t(shown === "ok" ? "items.note" : "items.why")}</th>
            <th scope="col" className="num">
              {t("items.when")}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((item) => (
            <Row
              key={placeOf(item)}
              job={job}
              item={item}
              chosen={chosen.has(placeOf(item))}
              onChoose={may ? (on) => choose(item, on) : undefined}
            />
          ))}
        </tbody>
      </table>
      {(rows.length < found.length || query.hasNextPage) && (
        <div className="foot">
          <span>{t("jobs.shown", { n: rows.length, all: count })}</span>
          <Button onClick={more}>{t("items.more")}</Button>
        </div>
      )}
      {chosen.size > 0 && <Again job={job} places={[...chosen.values()]} onDone={() => setChosen(new Map())} />}
    </>
  );
}

interface Place {
  loop: string;
  key: string;
}
const placeOf = (item: Place) => `${item.loop}\n${item.key}`;

/** The chosen items once more, as a new job; where it leads is that job's page. */
function Again({ job, places, onDone }: { job: JobWhole; places: Place[]; onDone: () => void }) {
  const { t } = useSpeech();
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const done = (result: unknown) => {
    onDone();
    void navigate({ to: "/jobs/$id", params: { id: (result as Stored).job.id } });
  };
  return (
    <div className="foot">
      <Button icon="rerun" onClick={() => setOpen(true)}>
        {t("items.again", { n: places.length })}…
      </Button>
      {open && (
        <ActionDialog
          title={t("items.again", { n: places.length })}
          says={t("items.again.says", { n: places.length })}
          verb={t("items.again", { n: places.length })}
          run={(act) =>
            post<Stored>(
              `jobs/${job.id}/rerun`,
              { mode: "failed_items", items: places, reason: act.reason || null },
              act.key,
            )
          }
          onDone={done}
          onClose={() => setOpen(false)}
        />
      )}
    </div>
  );
}

function Row({
  job,
  item,
  chosen,
  onChoose,
}: {
  job: JobWhole;
  item: Item;
  chosen: boolean;
  onChoose?: (on: boolean) => void;
}) {
  const { t, tWord, moment } = useSpeech();
  const [open, setOpen] = useState(false);
  const told = item.tries > 1 || item.since !== null;
  return (
    <>
      <tr>
        <td className="mono">
          {onChoose && <Check label={t("items.choose", { key: item.key })} checked={chosen} onChange={onChoose} />}
          {item.key}
        </td>
        <td>
          {item.reason ? (
            <b className={item.outcome === "failed" ? "" : "plain"}>{item.reason}</b>
          ) : (
            <span className="dim">–</span>
          )}
          {item.error_type && <span className="dim"> {item.error_type}</span>}
          {item.loop && item.loop !== "items" && <span className="dim"> · {item.loop}</span>}
          {item.since && (
            <div className="item-since">
              {t("items.then", { outcome: tWord("items", item.since.outcome).toLowerCase() })}{" "}
              <Link to="/jobs/$id" params={{ id: item.since.job }}>
                …{tail(item.since.job)}
              </Link>
            </div>
          )}
        </td>
        <td className="num nowrap dim" data-th={t("items.when")}>
          {moment(item.at)}
          {told && (
            <>
              {" "}
              <button type="button" className="link small" aria-expanded={open} onClick={() => setOpen(!open)}>
                {item.tries > 1 ? t("items.tries", { n: item.tries }) : t("items.history")}
              </button>
            </>
          )}
        </td>
      </tr>
      {open && (
        <tr className="item-history">
          <td colSpan={3}>
            <History job={job} item={item} />
          </td>
        </tr>
      )}
    </>
  );
}

/** All that one item was: each outcome with its job, attempt, reason and time; the oldest first. */
function History({ job, item }: { job: JobWhole; item: Item }) {
  const { t, tWord, moment } = useSpeech();
  const query = useLook<ItemHistory>(`jobs/${job.id}/items/history`, { key: item.key, loop: item.loop });
  if (query.error) return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <Waiting />;
  return (
    <ol aria-label={t("items.history.of", { key: item.key })}>
      {query.data.records.map((one) => (
        <li key={`${one.job}${one.run_no}`}>
          <span className="dim nowrap">{moment(one.at)}</span>
          <span className={one.outcome === "failed" ? "partial fg" : ""}>{tWord("items", one.outcome)}</span>
          <span className="nowrap">
            <Link to="/jobs/$id" params={{ id: one.job }}>
              …{tail(one.job)}
            </Link>
            {one.attempt !== null && <span className="dim">, {t("items.attempt", { n: one.attempt })}</span>}
          </span>
          <span className="why">
            {one.reason}
            {one.error_type && <span className="dim"> {one.error_type}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}

/* The log of a job: follows while it grows, stands still when one reads above; search, levels, download. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { address, get } from "../api/client";
import { useNews } from "../api/live";
import type { JobWhole, Log } from "../api/types";
import { useSpeech } from "../i18n";
import { body, firstError, joined, type LogRecord, marked } from "../lib/log";
import { isFinal } from "../lib/words";
import { Button, Card, Choice, Icon } from "./basic";
import { ProblemNote } from "./problem";

type Level = "all" | "WARNING" | "ERROR";

interface Kept {
  records: LogRecord[];
  last: number | null;
  first: number | null;
  earlier: boolean;
  dropped: number;
  gap: number | null;
}

const PAUSE = 500; // ms between two askings for more

const NONE: Kept = { records: [], last: null, first: null, earlier: false, dropped: 0, gap: null };

/** What is known of the log, and more of it as it comes: only what is new is asked for. */
function useLog(job: JobWhole, level: Level, search: string) {
  const [kept, setKept] = useState<Kept>(NONE);
  const [problem, setProblem] = useState<unknown>(null);
  const state = useRef(kept);
  state.current = kept;
  const asked = { level: level === "all" ? null : level, search: search || null };
  const key = JSON.stringify([job.id, asked]);
  const news = useNews(`log ${job.id}`);
  const askedAt = useRef(0);
  const of = useRef<AbortController | null>(null);
  const take = async (where: Record<string, number | null>, signal?: AbortSignal) => {
    try {
      const log = await get<Log>(`jobs/${job.id}/log`, { ...asked, ...where }, signal);
      if (signal?.aborted) return;
      setProblem(null);
      state.current = merged(state.current, log, where);
      setKept(state.current);
    } catch (error) {
      if (!(error instanceof DOMException)) setProblem(error);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when another log is wanted
  useEffect(() => {
    const stop = new AbortController();
    of.current = stop;
    state.current = NONE;
    setKept(NONE);
    void take({}, stop.signal);
    return () => stop.abort();
  }, [key]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is new is asked for when there is news, and now and then
  useEffect(() => {
    const stop = new AbortController();
    const more = () => {
      if (!document.hidden)
        void take({ after: state.current.last === null ? -1 : state.current.last - 1 }, stop.signal);
    };
    const soon = news > 0 ? window.setTimeout(more, Math.max(0, PAUSE - (Date.now() - askedAt.current))) : undefined;
    const timer = isFinal(job.status) ? null : window.setInterval(more, 2000);
    return () => {
      window.clearTimeout(soon);
      if (timer !== null) window.clearInterval(timer);
    };
  }, [key, news, job.status]);
  /** All that came before, so that the start can be reached; a log is bounded. */
  const whole = async () => {
    const signal = of.current?.signal;
    for (let before = state.current.first; state.current.earlier && before !== null && !signal?.aborted; ) {
      await take({ before }, signal);
      if (state.current.first === before) return; // refused, which the page says
      before = state.current.first;
    }
  };
  return { ...kept, problem, state, whole, more: () => void take({ before: kept.first ?? 0 }) };
}

function merged(old: Kept, log: Log, where: Record<string, number | null>): Kept {
  const later = Math.max(old.last ?? -1, log.last ?? -1);
  const earliest = Math.min(old.first ?? Number.MAX_SAFE_INTEGER, log.first ?? Number.MAX_SAFE_INTEGER);
  return {
    records: joined(old.records, log.records),
    last: later < 0 ? null : later,
    first: earliest === Number.MAX_SAFE_INTEGER ? null : earliest,
    earlier: "after" in where && old.first !== null ? old.earlier : log.earlier,
    dropped: log.dropped,
    gap: log.gap_before,
  };
}

export function JobLog({ job }: { job: JobWhole }) {
  const { t, num, clock } = useSpeech();
  const [typed, setTyped] = useState("");
  const [search, setSearch] = useState("");
  const [level, setLevel] = useState<Level>("all");
  const [follow, setFollow] = useState(!isFinal(job.status));
  useEffect(() => {
    const timer = window.setTimeout(() => setSearch(typed.trim()), 250);
    return () => window.clearTimeout(timer);
  }, [typed]);
  const log = useLog(job, level, search);
  const nothing = log.records.length === 0;
  const [wanted, setWanted] = useState<Place | null>(null);
  const jump = async (find: (records: readonly LogRecord[]) => number) => {
    setFollow(false);
    await log.whole();
    const index = find(log.state.current.records);
    if (index >= 0) setWanted({ index });
  };
  return (
    <Card
      title={t("log.title")}
      sub={job.finished_at ? t("log.ended", { at: clock(job.finished_at) }) : undefined}
      className="o6"
      end={
        <>
          <label className="field">
            <Icon of="search" />
            <input
              value={typed}
              aria-label={t("log.search")}
              placeholder={t("log.search")}
              onChange={(event) => setTyped(event.target.value)}
            />
            {search && <span className="dim">{num(log.records.length)}</span>}
          </label>
          <Choice
            label={t("log.levels")}
            value={level}
            options={[
              ["all", t("log.all")],
              ["WARNING", t("log.warnings")],
              ["ERROR", t("log.errors")],
            ]}
            onChange={setLevel}
          />
          <Button look="quiet" off={nothing} onClick={() => void jump(() => 0)}>
            {t("log.start")}
          </Button>
          <Button look="quiet" off={nothing} onClick={() => void jump(firstError)}>
            {t("log.firstError")}
          </Button>
          <Button look="quiet" off={nothing} onClick={() => setWanted({ index: log.records.length - 1 })}>
            {t("log.end")}
          </Button>
          {!isFinal(job.status) && (
            <Button look="quiet" icon="down" aria-pressed={follow} onClick={() => setFollow(!follow)}>
              {t("log.follow")}
            </Button>
          )}
          <a
            className="icon-btn"
            href={address(`jobs/${job.id}/log.txt`)}
            download
            aria-label={t("log.download")}
            title={t("log.download")}
          >
            <Icon of="download" />
          </a>
        </>
      }
    >
      {log.problem !== null && <ProblemNote problem={log.problem} />}
      {log.earlier && (
        <p className="log-edge">
          <button type="button" className="link" onClick={log.more}>
            {t("log.earlier")}
          </button>
        </p>
      )}
      {nothing ? (
        <p className="log log-none">{t(search || level !== "all" ? "log.nomatch" : "log.none")}</p>
      ) : (
        <Lines
          records={log.records}
          wanted={search}
          place={wanted}
          follow={follow}
          onFollow={setFollow}
          gap={log.gap}
          dropped={log.dropped}
        />
      )}
    </Card>
  );
}

/** A line to go to; another object each time, so that the same line is gone to again. */
interface Place {
  index: number;
}

interface LinesProps {
  records: LogRecord[];
  wanted: string;
  place: Place | null;
  follow: boolean;
  onFollow: (on: boolean) => void;
  gap: number | null;
  dropped: number;
}

const LINE = 20;

function Lines({ records, wanted, place, follow, onFollow, gap, dropped }: LinesProps) {
  const { t } = useSpeech();
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: records.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 20,
  });
  const moved = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: to the end whenever something has come
  useEffect(() => {
    if (!follow || records.length === 0) return;
    moved.current = Date.now();
    rows.scrollToIndex(records.length - 1, { align: "end" });
  }, [follow, records.length]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever somebody asks
  useEffect(() => {
    if (place) rows.scrollToIndex(place.index, { align: "start" });
  }, [place]);
  const scrolled = () => {
    const pane = box.current;
    if (!pane || Date.now() - moved.current < 300) return;
    const end = pane.scrollHeight - pane.scrollTop - pane.clientHeight < 30;
    if (follow && !end) onFollow(false);
  };
  // Who reads above says so by wheel or key; a scroll alone may be ours.
  const above = (up: boolean) => up && follow && onFollow(false);
  return (
    <div
      className="log"
      ref={box}
      onScroll={scrolled}
      onWheel={(event) => above(event.deltaY < 0)}
      onKeyDown={(event) => above(["ArrowUp", "PageUp", "Home"].includes(event.key))}
      tabIndex={0}
      role="log"
      aria-label={t("log.title")}
      aria-live="off"
    >
      <div className="log-all" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((row) => {
          const record = records[row.index]!;
          const lost = gap !== null && record.seq >= gap && (records[row.index - 1]?.seq ?? -1) < gap;
          return (
            <div
              key={row.key}
              ref={rows.measureElement}
              data-index={row.index}
              className="log-row"
              style={{ transform: `translateY(${row.start}px)` }}
            >
              {lost && <p className="sep">{t("log.dropped", { n: dropped })}</p>}
              <One record={record} wanted={wanted} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

const TONES: Record<string, string> = { WARNING: "warning", ERROR: "error", CRITICAL: "error" };

function One({ record, wanted }: { record: LogRecord; wanted: string }) {
  const time = record.at ? new Date(record.at).toISOString().slice(11, 23) : "";
  return (
    <div className={`log-line ${TONES[record.level ?? ""] ?? ""}`}>
      <span>
        {time.slice(0, 8)}
        <span className="ms">{time.slice(8)}</span>
      </span>
      <span className="lv">{record.level === "WARNING" ? "WARN" : record.level}</span>
      <span>
        {marked(body(record), wanted).map((part, index) =>
          part.hit ? <mark key={index}>{part.text}</mark> : part.text,
        )}
      </span>
    </div>
  );
}

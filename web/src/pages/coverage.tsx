/* Coverage: what is loaded, what is missing? Sources by periods; a gap is a hole; a range becomes a backfill. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { isBare, useCoverageTask } from "../api/coveragetask";
import { useLook } from "../api/queries";
import type { Grid, UnitFiles } from "../api/types";
import { useSpeech } from "../i18n";
import { areaOf, beside, monthOf, type Range, type Spot, shown, timeOf, type Zoom } from "../lib/grid";
import { lastTask } from "../lib/lasttask";
import { Backfill } from "../parts/backfill";
import { Card, Choice, Empty, IconButton, Waiting } from "../parts/basic";
import { Board } from "../parts/board";
import { CellCard } from "../parts/cellcard";
import { usePlace } from "../parts/crumbs";
import { ProblemNote } from "../parts/problem";
import { UnitFileTable } from "../parts/unitfiles";

const FEW_SOURCES = 12; // are seen at a glance

export function Coverage() {
  const { t } = useSpeech();
  usePlace({ text: t("nav.coverage") });
  const asked = useSearch({ from: "/coverage" });
  const first = useCoverageTask(asked.task === undefined);
  const { tasks } = first;
  const task = asked.task ?? first.task;
  useEffect(() => {
    if (asked.task) lastTask.set(asked.task);
  }, [asked.task]);
  if (tasks.error) return <ProblemNote problem={tasks.error} onRetry={() => void tasks.refetch()} />;
  if (!tasks.data || (!task && first.known.length > 0)) return <Waiting />;
  if (!task)
    return (
      <>
        <h1>{t("coverage.title")}</h1>
        <Card>
          <Empty title={t("coverage.none")}>{t("coverage.none.how")}</Empty>
        </Card>
      </>
    );
  return <OfTask key={task} task={task} tasks={tasks.data.tasks} />;
}

/** What the address asks for; a place in it that is no year or month is left out. */
function useAddress() {
  const asked = useSearch({ from: "/coverage" });
  return { ...asked, at: timeOf(asked.at) };
}

function OfTask({ task, tasks }: { task: string; tasks: string[] }) {
  const asked = useAddress();
  const zoom: Zoom = asked.zoom === "year" || asked.zoom === "day" ? asked.zoom : "month";
  const [range, setRange] = useState<Range | null>(null);
  const [over, setOver] = useState<Spot | null>(null);
  const [dragging, setDragging] = useState(false);
  const [source, setSource] = useState("");
  const query = useLook<Grid>("units", { task, zoom, ...shown(zoom, asked.at), source, limit: 200 }, { every: 5000 });
  const files = useLook<UnitFiles>("units/files", { task }, { every: 15_000 });
  const grid = query.data;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a range belongs to what is shown
  useEffect(() => setRange(null), [task, zoom, asked.at, source]);
  const selected = grid ? areaOf(grid, range) : null;
  const onlyFiles = grid !== undefined && isBare(grid) && asked.at === undefined && (files.data?.files.length ?? 0) > 0;
  return (
    <>
      <CoverageHead
        task={task}
        tasks={tasks}
        zoom={zoom}
        grid={grid}
        files={onlyFiles ? files.data?.files : undefined}
        source={source}
        onSource={setSource}
      />
      {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
      <div className={`grid split ${onlyFiles ? "" : "g-2-1"}`}>
        <div className="grid">
          {!grid && !query.error && <Waiting />}
          {grid && !onlyFiles && (
            <Board grid={grid} range={range} onRange={setRange} onOver={setOver} onDragging={setDragging} />
          )}
          {files.data && files.data.files.length > 0 && <UnitFileTable files={files.data.files} />}
        </div>
        {grid && !onlyFiles && (
          <div className="cov-side o2">
            {selected && <Backfill grid={grid} range={selected} still={!dragging} onClose={() => setRange(null)} />}
            <CellCard grid={grid} spot={over ?? range?.to ?? null} />
          </div>
        )}
      </div>
    </>
  );
}

interface HeadProps {
  task: string;
  tasks: string[];
  zoom: Zoom;
  grid: Grid | undefined;
  files: UnitFiles["files"] | undefined; // where there is nothing but files
  source: string;
  onSource: (text: string) => void;
}

function CoverageHead({ task, tasks, zoom, grid, files, source, onSource }: HeadProps) {
  const { t } = useSpeech();
  const navigate = useNavigate();
  const asked = useAddress();
  const first = grid?.columns[0]?.period;
  const last = grid?.columns.at(-1)?.period;
  const at = asked.at ?? (zoom === "day" ? last?.slice(0, 7) : last?.slice(0, 4)) ?? "";
  const go = (search: Record<string, string | undefined>) =>
    void navigate({ to: "/coverage", search: { task, zoom, at: asked.at, ...search }, replace: true });
  const names = tasks.includes(task) ? tasks : [task, ...tasks];
  return (
    <div className="page-head">
      <div>
        <h1>{t("coverage.title")}</h1>
        <p>{files ? <FileSum files={files} /> : grid ? <Sum grid={grid} /> : " "}</p>
      </div>
      <div className="head-end">
        {((grid && grid.sources > FEW_SOURCES) || source !== "") && (
          <input
            className="input source-find"
            aria-label={t("coverage.source")}
            placeholder={t("coverage.source")}
            value={source}
            onChange={(event) => onSource(event.target.value)}
          />
        )}
        <select
          className="input auto"
          aria-label={t("col.task")}
          value={task}
          onChange={(event) => go({ task: event.target.value, at: undefined })}
        >
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        {zoom !== "year" && at && !files && (
          <span className="seg step">
            <IconButton icon="left" label={t("coverage.before")} onClick={() => go({ at: beside(zoom, at, -1) })} />
            <b>{zoom === "day" ? at.slice(0, 7) : at.slice(0, 4)}</b>
            <IconButton icon="right" label={t("coverage.after")} onClick={() => go({ at: beside(zoom, at, 1) })} />
          </span>
        )}
        {!files && (
          <Choice
            label={t("coverage.zoom")}
            value={zoom}
            options={[
              ["year", t("coverage.years")],
              ["month", t("coverage.months")],
              ["day", t("coverage.days")],
            ]}
            onChange={(next) =>
              go({
                zoom: next,
                at: next === "year" ? undefined : next === "day" ? monthOf(at, first) : at.slice(0, 4) || undefined,
              })
            }
          />
        )}
      </div>
    </div>
  );
}

function FileSum({ files }: { files: UnitFiles["files"] }) {
  const { t } = useSpeech();
  const of = (state: string) => files.filter((file) => file.state === state).length;
  return (
    <>
      {t("files.count", {
        n: files.length,
        complete: of("complete"),
        partial: of("partial"),
        failed: of("failed"),
      })}
    </>
  );
}

function Sum({ grid }: { grid: Grid }) {
  const { t } = useSpeech();
  const of = (state: "complete" | "partial" | "failed") =>
    grid.rows.reduce((sum, row) => sum + (row.counts[state] ?? 0), 0);
  const missing = grid.rows.reduce((sum, row) => sum + row.missing, 0);
  const cells = grid.rows.length * grid.columns.length;
  return (
    <>
      {cells === 0
        ? t("coverage.empty")
        : t("coverage.sum", { complete: of("complete"), partial: of("partial"), failed: of("failed"), missing })}
    </>
  );
}

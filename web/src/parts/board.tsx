/* The grid of current truth: exceptions are loud, complete months pale, a gap is a hole. Walked by keys, told by words. */
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, memo, type PointerEvent, useEffect, useRef, useState } from "react";
import type { Grid, GridCell } from "../api/types";
import { useSpeech } from "../i18n";
import { areaOf, edges, type Place, placeOf, type Range, type Spot, spotAt, walked, type Zoom } from "../lib/grid";
import { Card, Icon } from "./basic";
import type { Shape } from "./shapes";

const SHAPES: Record<string, Shape> = {
  complete: "completed",
  partial: "partial",
  failed: "failed",
  active: "running",
  missing: "gap",
};

export function lookOf(cell: GridCell | undefined): string {
  if (!cell || cell.state === "missing") return "gap";
  if (cell.state === "active") return cell.unit?.status === "pending" ? "pending" : (cell.unit?.status ?? "running");
  return cell.state === "complete" ? "completed" : cell.state;
}

interface BoardProps {
  grid: Grid;
  range: Range | null;
  onRange: (range: Range | null) => void;
  onOver: (spot: Spot | null) => void;
  onDragging: (on: boolean) => void;
}

/** Drawn anew for a new grid or range only: where the pointer is, is shown beside it. */
export const Board = memo(function Board({ grid, range, onRange, onOver, onDragging }: BoardProps) {
  const { t, tWord, num } = useSpeech();
  const navigate = useNavigate();
  const box = useRef<HTMLDivElement>(null);
  const [spot, setSpot] = useState<Spot | null>(null);
  const drag = useRef<Spot | null>(null);
  const zoom = grid.zoom as Zoom; // of what is shown, whatever was asked for meanwhile
  const at = placeOf(grid, spot) ?? { row: 0, column: 0 };
  const cells = grid.rows.map((row) => new Map(row.cells.map((cell) => [cell.column, cell])));
  const cellAt = (place: Place) => cells[place.row]?.get(place.column);
  const selected = areaOf(grid, range);
  const enter = (place: Place) => {
    const unit = cellAt(place)?.unit;
    const job = unit?.active_job ?? unit?.job;
    if (job) void navigate({ to: "/jobs/$id", params: { id: job } });
    else if (zoom !== "day")
      void navigate({
        to: "/coverage",
        search: { task: grid.task, zoom: zoom === "year" ? "month" : "day", at: spotAt(grid, place).period },
      });
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.key === "Escape") return onRange(null);
    if (event.key === "Enter") return enter(at);
    const next = walked(at, event.key, grid.rows.length, grid.columns.length);
    if (!next) return;
    event.preventDefault();
    const to = spotAt(grid, next);
    setSpot(to);
    onOver(to);
    onRange(event.shiftKey ? { from: selected && range ? range.from : spotAt(grid, at), to } : null);
    box.current?.querySelector<HTMLElement>(`[data-place="${next.row}.${next.column}"]`)?.focus();
  };
  const spotUnder = (event: PointerEvent): Spot | null => {
    const place = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>("[data-place]")
      ?.dataset.place;
    if (!place) return null;
    const [row, column] = place.split(".").map(Number);
    return grid.rows[row!] && grid.columns[column!] ? spotAt(grid, { row: row!, column: column! }) : null;
  };
  const down = (event: PointerEvent) => {
    const here = spotUnder(event);
    if (!here || event.button !== 0) return;
    if (event.shiftKey) onRange({ from: selected && range ? range.from : spotAt(grid, at), to: here });
    else {
      drag.current = here;
      onDragging(true);
    }
    setSpot(here);
  };
  const moved = (event: PointerEvent) => {
    const here = spotUnder(event);
    onOver(here);
    const from = drag.current;
    if (from && here && event.pointerType !== "touch" && !isSame(from, here)) {
      onRange({ from, to: here });
      setSpot(here);
    }
  };
  const up = (event: PointerEvent) => {
    const from = drag.current;
    const here = spotUnder(event);
    dropped();
    if (from && here && isSame(from, here) && !event.shiftKey) onRange({ from, to: here });
  };
  const dropped = () => {
    drag.current = null;
    onDragging(false);
  };
  useEffect(() => {
    const end = () => {
      if (!drag.current) return;
      drag.current = null;
      onDragging(false);
    };
    window.addEventListener("pointerup", end); // outside of the grid
    window.addEventListener("pointercancel", end);
    return () => {
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
    };
  }, [onDragging]);
  if (grid.rows.length === 0) return null;
  return (
    <Card className="cov-card">
      <Legend grid={grid} />
      <div className="card-body">
        <div
          className={`cov n-${Math.min(grid.columns.length, 31)} ${zoom}`}
          role="grid"
          aria-label={t("coverage.title")}
          tabIndex={-1}
          ref={box}
          onKeyDown={keyed}
          onPointerDown={down}
          onPointerMove={moved}
          onPointerUp={up}
          onPointerLeave={() => onOver(null)}
        >
          <div role="row">
            <span role="columnheader" className="mh corner">
              {t("col.source")}
            </span>
            {grid.columns.map((column) => (
              <span key={column.period} role="columnheader" className="mh">
                <ColumnName period={column.period} zoom={zoom} />
              </span>
            ))}
          </div>
          {grid.rows.map((row, y) => (
            <div role="row" key={row.source ?? ""}>
              <span role="rowheader" className="sh">
                <span className="ell" title={row.source ?? undefined}>
                  {row.source ?? t("coverage.nosource")}
                </span>
                <small>{t("coverage.row", { n: row.counts.complete ?? 0, all: allOf(row) })}</small>
              </span>
              {grid.columns.map((column, x) => {
                const cell = cellAt({ row: y, column: x });
                const look = lookOf(cell);
                const text = cellText(cell, num);
                const future = !cell && !column.over;
                const here = at.row === y && at.column === x;
                return (
                  <span
                    key={column.period}
                    role="gridcell"
                    tabIndex={here ? 0 : -1}
                    data-place={`${y}.${x}`}
                    className={`cell ${look} ${future ? "future" : ""} ${edges({ row: y, column: x }, selected)}`}
                    aria-selected={edges({ row: y, column: x }, selected) !== ""}
                    aria-label={`${row.source ?? ""} ${column.period}: ${tWord("coverage.state", cell?.state ?? "missing")}${text && `, ${text}`}`}
                    onFocus={() => {
                      setSpot(spotAt(grid, { row: y, column: x }));
                      onOver(spotAt(grid, { row: y, column: x }));
                    }}
                    onDoubleClick={() => enter({ row: y, column: x })}
                  >
                    <Icon of={look === "gap" ? "gap" : look in SHAPES ? SHAPES[look]! : (look as Shape)} />
                    {text && <span>{text}</span>}
                  </span>
                );
              })}
            </div>
          ))}
        </div>
        {grid.next !== null && <p className="small dim">{t("coverage.more", { n: grid.sources })}</p>}
      </div>
    </Card>
  );
});

const isSame = (one: Spot, other: Spot) => one.source === other.source && one.period === other.period;

/** What there is or should be by now. */
function allOf(row: Grid["rows"][number]): number {
  return Object.values(row.counts).reduce((sum, number) => sum + (number ?? 0), row.missing);
}

function ColumnName({ period, zoom }: { period: string; zoom: Zoom }) {
  const { lang } = useSpeech();
  if (zoom === "month")
    return (
      <>
        {new Intl.DateTimeFormat(lang === "en" ? "en-US" : "ru-RU", { month: "short", timeZone: "UTC" })
          .format(new Date(`${period}-01T00:00:00Z`))
          .replace(".", "")}
      </>
    );
  return <>{zoom === "day" ? Number(period.slice(8, 10)) || period : period}</>;
}

/** The number in a cell: what is missing of it, what is in, or how many of its finer parts are complete. */
function cellText(cell: GridCell | undefined, num: (value: number) => string): string {
  if (!cell) return "";
  const failed = cell.unit?.items.failed;
  const ok = cell.unit?.items.ok;
  const several = Object.values(cell.counts).reduce<number>((sum, n) => sum + (n ?? 0), 0);
  if (several > 1 || (cell.expected ?? 1) > 1)
    return `${num(cell.counts.complete ?? 0)}/${num(Math.max(cell.expected ?? 0, several))}`;
  if (cell.state === "partial" && failed) return `−${num(failed)}`;
  return ok ? num(ok) : "";
}

function Legend({ grid }: { grid: Grid }) {
  const { num, tWord } = useSpeech();
  const missing = grid.rows.reduce((sum, row) => sum + row.missing, 0);
  const of = (state: "complete" | "partial" | "failed" | "active") =>
    grid.rows.reduce((sum, row) => sum + (row.counts[state] ?? 0), 0);
  const lines: [string, Shape, number][] = [
    ["complete", "completed", of("complete")],
    ["partial", "partial", of("partial")],
    ["failed", "failed", of("failed")],
    ["active", "running", of("active")],
    ["missing", "gap", missing],
  ];
  return (
    <div className="legend cov-legend">
      {lines.map(([state, shape, number]) => (
        <span key={state} className={`${shape === "gap" ? "pending" : shape} ${number ? "" : "zero"}`}>
          <span className="fg">
            <Icon of={shape} />
          </span>
          {tWord("coverage.state", state)} <b>{num(number)}</b>
        </span>
      ))}
    </div>
  );
}

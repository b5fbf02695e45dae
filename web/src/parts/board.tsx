/* The grid of current truth: exceptions are loud, complete months pale, a gap is a hole. Walked by keys, told by words. */
import { Link, useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import type { Grid, GridCell } from "../api/types";
import { useSpeech } from "../i18n";
import { area, edges, type Place, walked, type Zoom } from "../lib/grid";
import { Card, Icon } from "./basic";
import type { Shape } from "./shapes";
import { StatusTag } from "./status";

export interface Range {
  from: Place;
  to: Place;
}

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
  zoom: Zoom;
  range: Range | null;
  onRange: (range: Range | null) => void;
}

export function Board({ grid, zoom, range, onRange }: BoardProps) {
  const { t, tWord, num } = useSpeech();
  const navigate = useNavigate();
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<Place>({ row: 0, column: 0 });
  const [over, setOver] = useState<Place | null>(null);
  const drag = useRef<Place | null>(null);
  const cells = grid.rows.map((row) => new Map(row.cells.map((cell) => [cell.column, cell])));
  const cellAt = (place: Place) => cells[place.row]?.get(place.column);
  const selected = range ? area(range.from, range.to) : null;
  const enter = (place: Place) => {
    const unit = cellAt(place)?.unit;
    const job = unit?.active_job ?? unit?.job;
    const period = grid.columns[place.column]!.period;
    if (job) void navigate({ to: "/jobs/$id", params: { id: job } });
    else if (zoom !== "day")
      void navigate({
        to: "/coverage",
        search: { task: grid.task, zoom: zoom === "year" ? "month" : "day", at: period },
      });
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.key === "Escape") return onRange(null);
    if (event.key === "Enter") return enter(at);
    const next = walked(at, event.key, grid.rows.length, grid.columns.length);
    if (!next) return;
    event.preventDefault();
    setAt(next);
    setOver(next);
    onRange(event.shiftKey ? { from: range?.from ?? at, to: next } : null);
    box.current?.querySelector<HTMLElement>(`[data-place="${next.row}.${next.column}"]`)?.focus();
  };
  const placeOf = (event: PointerEvent): Place | null => {
    const place = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>("[data-place]")
      ?.dataset.place;
    if (!place) return null;
    const [row, column] = place.split(".").map(Number);
    return { row: row!, column: column! };
  };
  const down = (event: PointerEvent) => {
    const place = placeOf(event);
    if (!place || event.button !== 0) return;
    if (event.shiftKey) onRange({ from: range?.from ?? at, to: place });
    else drag.current = place;
    setAt(place);
  };
  const moved = (event: PointerEvent) => {
    const place = placeOf(event);
    setOver(place);
    const from = drag.current;
    if (from && place && event.pointerType !== "touch" && (from.row !== place.row || from.column !== place.column))
      onRange({ from, to: place });
  };
  const up = (event: PointerEvent) => {
    const from = drag.current;
    const place = placeOf(event);
    drag.current = null;
    if (from && place && from.row === place.row && from.column === place.column && !event.shiftKey)
      onRange({ from, to: place });
  };
  const focus = over ?? (range ? range.to : null);
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
          onPointerLeave={() => setOver(null)}
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
                    onFocus={() => setOver({ row: y, column: x })}
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
        <div className="cov-below">
          {focus && grid.rows[focus.row] ? (
            <Told grid={grid} place={focus} cell={cellAt(focus)} />
          ) : (
            <p className="small dim">{t("coverage.how")}</p>
          )}
        </div>
        {grid.next !== null && <p className="small dim">{t("coverage.more", { n: grid.sources })}</p>}
      </div>
    </Card>
  );
}

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

/** What is known of a cell: outcome, counts, when, and from which job. */
function Told({ grid, place, cell }: { grid: Grid; place: Place; cell: GridCell | undefined }) {
  const { t, tWord, num, moment } = useSpeech();
  const row = grid.rows[place.row]!;
  const column = grid.columns[place.column]!;
  const unit = cell?.unit;
  const job = unit?.active_job ?? unit?.job;
  const look = lookOf(cell);
  return (
    <div className="hover-card">
      <p>
        {look === "gap" ? (
          <span className="st pending">
            <Icon of="gap" />
            <span>{tWord("coverage.state", column.over ? "missing" : "future")}</span>
          </span>
        ) : (
          <StatusTag status={look} />
        )}{" "}
        <b>
          {row.source ?? t("coverage.nosource")} · {column.period}
        </b>
      </p>
      {unit ? (
        <dl className="kv">
          <div className="kv-row">
            <dt>{t("coverage.items")}</dt>
            <dd>
              {num(unit.items.ok ?? 0)} / {num(unit.items.failed ?? 0)} / {num(unit.items.skipped ?? 0)}
            </dd>
          </div>
          <div className="kv-row">
            <dt>{t("coverage.changed")}</dt>
            <dd>{moment(unit.changed_at)}</dd>
          </div>
        </dl>
      ) : cell ? (
        <p className="soft">
          {(Object.entries(cell.counts) as [string, number][])
            .map(([state, n]) => `${num(n)} ${tWord("coverage.state", state).toLowerCase()}`)
            .join(", ")}
          {cell.expected !== null && `, ${t("coverage.expected", { n: cell.expected })}`}
        </p>
      ) : (
        <p className="soft">{t(column.over ? "coverage.never" : "coverage.notyet")}</p>
      )}
      {job && (
        <p>
          <Link to="/jobs/$id" params={{ id: job }}>
            {t("coverage.open")}
          </Link>
        </p>
      )}
    </div>
  );
}

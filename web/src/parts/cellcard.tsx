/* What is known of one cell of the coverage grid: outcome, counts, when, and from which job. */
import { Link } from "@tanstack/react-router";
import type { Grid } from "../api/types";
import { useSpeech } from "../i18n";
import { placeOf, type Spot } from "../lib/grid";
import { Icon } from "./basic";
import { lookOf } from "./board";
import { StatusTag } from "./status";

export function CellCard({ grid, spot }: { grid: Grid; spot: Spot | null }) {
  const { t, tWord, num, moment } = useSpeech();
  const place = placeOf(grid, spot);
  if (!place)
    return (
      <section className="hover-card">
        <p className="small dim">{t("coverage.how")}</p>
      </section>
    );
  const row = grid.rows[place.row]!;
  const column = grid.columns[place.column]!;
  const cell = row.cells.find((one) => one.column === place.column);
  const unit = cell?.unit;
  const job = unit?.active_job ?? unit?.job;
  const look = lookOf(cell);
  return (
    <section className="hover-card">
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
    </section>
  );
}

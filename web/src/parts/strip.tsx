/* The coverage of one task in small: what is missing is seen without leaving the overview. */
import { Link } from "@tanstack/react-router";
import { isBare, useCoverageTask } from "../api/coveragetask";
import { useSpeech } from "../i18n";
import { shapeOf } from "../lib/words";
import { Card, Icon } from "./basic";
import { lookOf } from "./board";

export function Strip() {
  const { t, tWord } = useSpeech();
  const { task, grid } = useCoverageTask();
  if (!task || !grid || grid.columns.length > 12 || isBare(grid)) return null;
  return (
    <Card
      title={t("strip.title", { task })}
      sub={grid.columns[0]?.period.slice(0, 4)}
      end={
        <Link className="small" to="/coverage" search={{ task }}>
          {t("all")}
        </Link>
      }
    >
      <div className="card-body">
        <div className="strip">
          <span />
          {grid.columns.map((column) => (
            <span key={column.period}>{column.period.slice(5, 7)}</span>
          ))}
          {grid.rows.map((row) => {
            const cells = new Map(row.cells.map((cell) => [cell.column, cell]));
            return [
              <span key="source" className="src ell" title={row.source ?? undefined}>
                {row.source ?? t("coverage.nosource")}
              </span>,
              ...grid.columns.map((column, index) => {
                const look = lookOf(cells.get(index));
                const text = `${row.source ?? ""} ${column.period}: ${tWord("coverage.state", cells.get(index)?.state ?? "missing")}`;
                return (
                  <Link
                    key={column.period}
                    className={`cell ${look}`}
                    to="/coverage"
                    search={{ task, zoom: "month", at: column.period.slice(0, 4) }}
                    title={text}
                    aria-label={text}
                  >
                    <Icon of={look === "gap" ? "gap" : shapeOf(look)} />
                  </Link>
                );
              }),
            ];
          })}
        </div>
      </div>
    </Card>
  );
}

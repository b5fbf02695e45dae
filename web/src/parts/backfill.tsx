/* A range becomes a backfill: first what would be done with each unit, in numbers; then one tracked job does it. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { keyAfter, newKey, Problem, post } from "../api/client";
import { useFresh, useMay } from "../api/queries";
import type { Grid, Plan } from "../api/types";
import { useSpeech } from "../i18n";
import type { Area } from "../lib/grid";
import { Button, Icon, IconButton, Note, Waiting } from "./basic";
import { ProblemNote } from "./problem";
import type { Shape } from "./shapes";

const ONLY: Record<string, string[]> = {
  gaps: ["missing", "failed", "partial"],
  missing: ["missing"],
  failed: ["failed", "partial"],
  all: ["all"],
};
const SHAPES: Record<string, Shape> = {
  complete: "completed",
  partial: "partial",
  failed: "failed",
  active: "running",
  missing: "gap",
};

const CHANGED = "preview-changed"; // the server's code where something else would be run by now

interface BackfillProps {
  grid: Grid;
  range: Area;
  still: boolean; // nobody is dragging
  onClose: () => void;
}

export function Backfill({ grid, range, still, onClose }: BackfillProps) {
  const { t, tWord, num } = useSpeech();
  const navigate = useNavigate();
  const fresh = useFresh();
  const may = useMay("operator");
  const [only, setOnly] = useState("gaps");
  const [order, setOrder] = useState("newest");
  const [parallel, setParallel] = useState(2);
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const key = useRef(newKey());
  const busy = useRef(false);
  const sources = grid.rows.slice(range.top, range.bottom + 1).map((row) => row.source);
  const asked = {
    task: grid.task,
    first: grid.columns[range.left]!.period,
    last: grid.columns[range.right]!.period,
    sources,
    step: grid.zoom,
    only: ONLY[only]!,
    order,
  };
  const plan = useQuery({
    queryKey: ["units/preview", asked],
    queryFn: () => post<Plan>("units/preview", asked),
    refetchInterval: 10_000,
    enabled: may && still,
    gcTime: 0, // what is counted anew is not shown as it was before
  });
  const found = still ? plan.data : undefined;
  const meant = JSON.stringify(asked);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was refused is not what is selected now
  useEffect(() => setProblem(null), [meant]);
  const start = async () => {
    if (busy.current || !found) return;
    busy.current = true;
    setProblem(null);
    try {
      const stored = await post<{ job: string }>(
        "units/backfill",
        { ...asked, parallel, reason: reason.trim() || null, digest: found.digest },
        key.current,
      );
      await fresh();
      void navigate({ to: "/jobs/$id", params: { id: stored.job } });
    } catch (error) {
      setProblem(error);
      key.current = keyAfter(key.current, error);
      if (error instanceof Problem && error.code === CHANGED) await plan.refetch();
    } finally {
      busy.current = false;
    }
  };
  const cells = sources.length * (range.right - range.left + 1);
  return (
    <section className="card backfill" aria-labelledby="h-plan">
      <div className="card-head">
        <h2 id="h-plan">{t("backfill.title")}</h2>
        <span className="end">
          <IconButton icon="x" label={t("backfill.clear")} onClick={onClose} />
        </span>
      </div>
      <div className="card-body">
        <p className="soft small">
          {t("backfill.selected", {
            n: cells,
            sources:
              sources
                .map((one) => one ?? t("coverage.nosource"))
                .slice(0, 3)
                .join(", ") + (sources.length > 3 ? "…" : ""),
            first: asked.first,
            last: asked.last,
          })}
        </p>
      </div>
      {!may && <p className="calm">{t("may.operator")}</p>}
      {plan.error && <ProblemNote problem={plan.error} />}
      {may && !found && !plan.error && <Waiting />}
      {found && (
        <ul className="plan">
          {Object.entries(found.counts)
            .filter(([, number]) => number > 0)
            .map(([state, number]) => {
              const run = (ONLY[only]!.includes("all") || ONLY[only]!.includes(state)) && state !== "active";
              return (
                <li key={state} className={SHAPES[state] ?? "pending"}>
                  <Icon of={SHAPES[state] ?? "gap"} />
                  <span className={run ? "go" : ""}>
                    {tWord("coverage.state", state)}: {num(number)}
                  </span>
                  <span className="what">
                    {t(run ? "backfill.run" : state === "active" ? "backfill.active" : "backfill.left")}
                  </span>
                </li>
              );
            })}
          {Object.entries(found.ways).map(([way, number]) => (
            <li key={way}>
              <Icon of="arrow" />
              <span className="go">{tWord("way", way, { n: number })}</span>
            </li>
          ))}
        </ul>
      )}
      <div className="form">
        <label htmlFor="bf-only">{t("backfill.only")}</label>
        <select id="bf-only" className="input" value={only} onChange={(event) => setOnly(event.target.value)}>
          {Object.keys(ONLY).map((name) => (
            <option key={name} value={name}>
              {tWord("backfill.only", name)}
            </option>
          ))}
        </select>
        <label htmlFor="bf-par">{t("backfill.parallel")}</label>
        <input
          id="bf-par"
          className="input"
          type="number"
          min={1}
          max={100}
          value={parallel}
          onChange={(event) => setParallel(Math.max(1, Number(event.target.value) || 1))}
        />
        <label htmlFor="bf-order">{t("backfill.order")}</label>
        <select id="bf-order" className="input" value={order} onChange={(event) => setOrder(event.target.value)}>
          <option value="newest">{t("backfill.newest")}</option>
          <option value="oldest">{t("backfill.oldest")}</option>
        </select>
        <label htmlFor="bf-why">{t("reason")}</label>
        <input
          id="bf-why"
          className="input"
          value={reason}
          maxLength={500}
          onChange={(event) => setReason(event.target.value)}
        />
      </div>
      <div className="card-body">
        {problem instanceof Problem && problem.code === CHANGED ? (
          <Note tone="partial" icon="warning" live>
            {t("backfill.changed")}
          </Note>
        ) : (
          problem !== null && <ProblemNote problem={problem} />
        )}
        <Button look="primary" className="wide" off={!may || !found || found.chosen === 0} onClick={() => void start()}>
          {!found
            ? t("backfill.counting")
            : found.chosen === 0
              ? t("backfill.nothing")
              : t("backfill.start", { n: found.chosen })}
        </Button>
        <p className="small dim">{t("backfill.safe")}</p>
      </div>
    </section>
  );
}

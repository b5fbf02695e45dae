/* How it has gone on: what ended, by outcome; how long jobs waited and ran. */
import { useMemo, useState } from "react";
import { useNames } from "../api/names";
import { HOURS, useLook } from "../api/queries";
import type { Queues, Series } from "../api/types";
import { useSpeech } from "../i18n";
import { ENDS, opened, spreads, stacked, sums } from "../lib/series";
import { Choice } from "./basic";
import { Chart } from "./chart";
import { ProblemNote } from "./problem";

type Narrow = { task?: string; queue?: string; source?: string };
type Hours = typeof HOURS | "24" | "168";

export default function Charts() {
  const { t, tWord, num, span } = useSpeech();
  const [hours, setHours] = useState<Hours>(HOURS);
  const [narrow, setNarrow] = useState<Narrow>({});
  const query = useLook<Series>("stats/series", { hours, ...narrow }, { every: 10_000 });
  const points = query.data?.points;
  const drawn = useMemo(() => {
    const found = points ?? [];
    const { times, tops } = stacked(found);
    const spread = spreads(found);
    return { times, tops, spread, sums: sums(found) };
  }, [points]);
  const ends = [...ENDS].reverse();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the words change with the language
  const bars = useMemo(
    () =>
      ends.map((end) => ({ name: end, label: tWord("status", end), tone: end, values: drawn.tops[end], bars: true })),
    [drawn, tWord],
  );
  const lines = useMemo(
    () => [
      { name: "wait95", label: t("chart.wait95"), tone: "awaiting_input", values: drawn.spread.wait95, dash: [2, 4] },
      { name: "run95", label: t("chart.run95"), tone: "running", values: drawn.spread.run95, dash: [6, 4] },
      { name: "run50", label: t("chart.run50"), tone: "running", values: drawn.spread.run50 },
    ],
    [drawn, t],
  );
  if (query.error) return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
  const step = query.data?.step ?? 0;
  return (
    <>
      <Narrowing narrow={narrow} onChange={setNarrow} />
      <div className="grid g-1-1">
        <Chart
          title={t("chart.finished", { span: span(step) })}
          times={drawn.times}
          lines={bars}
          value={(number) => num(number)}
          jobs={(at, end) => opened(at, step, narrow, end)}
          legend={ENDS.map((end) => (
            <span key={end} className={end}>
              <i className="sw" />
              {tWord("status", end)} {num(drawn.sums[end] ?? 0)}
            </span>
          ))}
          end={
            <Choice
              label={t("chart.time")}
              value={hours}
              options={[
                ["3", span(3 * 3600)],
                ["24", span(24 * 3600)],
                ["168", span(168 * 3600)],
              ]}
              onChange={setHours}
            />
          }
        />
        <Chart
          title={t("chart.spread")}
          sub={t("chart.log")}
          log
          times={drawn.spread.times}
          lines={lines}
          value={(number) => span(number)}
          legend={
            <>
              <span className="awaiting_input">
                <i className="sw ln dot" />
                {t("chart.wait95")}
              </span>
              <span className="running">
                <i className="sw ln dash" />
                {t("chart.run95")}
              </span>
              <span className="running">
                <i className="sw ln" />
                {t("chart.run50")}
              </span>
            </>
          }
        />
      </div>
    </>
  );
}

/** Of one task, one queue, one source: both charts. */
function Narrowing({ narrow, onChange }: { narrow: Narrow; onChange: (next: Narrow) => void }) {
  const { t } = useSpeech();
  const tasks = useNames(true).task ?? [];
  const queues = useLook<Queues>("queues", {}, { every: 60_000 }).data?.queues.map((one) => one.name) ?? [];
  const choice = (key: "task" | "queue", names: readonly string[]) => (
    <select
      className="input"
      aria-label={t(`chart.${key}`)}
      value={narrow[key] ?? ""}
      onChange={(event) => onChange({ ...narrow, [key]: event.target.value || undefined })}
    >
      <option value="">
        {t(`chart.${key}`)}: {t("chart.every")}
      </option>
      {[...new Set([...names, ...(narrow[key] ? [narrow[key]] : [])])].map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
  return (
    <div className="chart-narrow">
      {choice("task", tasks)}
      {choice("queue", queues)}
      <Source value={narrow.source ?? ""} onChange={(source) => onChange({ ...narrow, source: source || undefined })} />
    </div>
  );
}

/** A source is typed whole: there may be thousands. */
function Source({ value, onChange }: { value: string; onChange: (next: string) => void }) {
  const { t } = useSpeech();
  const [typed, setTyped] = useState(value);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onChange(typed.trim());
      }}
    >
      <input
        className="input"
        aria-label={t("chart.source")}
        placeholder={t("chart.source")}
        value={typed}
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={() => onChange(typed.trim())}
      />
    </form>
  );
}

/* A chart drawn by uPlot in the colours of the page, with the same numbers as a table behind a button. */
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useSpeech } from "../i18n";
import { useTheme } from "../lib/theme";
import { Card } from "./basic";

export interface Line {
  name: string;
  label: string;
  tone: string;
  values: (number | null)[];
  dash?: number[];
  bars?: boolean;
}

interface ChartProps {
  title: string;
  sub?: ReactNode;
  end?: ReactNode;
  legend: ReactNode;
  times: number[];
  lines: Line[];
  log?: boolean;
  value: (number: number) => string;
  /** What a step opens, and within it one line; only where the chart counts jobs. */
  jobs?: (at: number, line?: string) => string;
}

/** Counts of jobs have no parts, so neither has their axis. */
const WHOLE = [1, 2, 5].flatMap((one) => [...Array(12).keys()].map((power) => one * 10 ** power)).sort((a, b) => a - b);

function colour(name: string): string {
  return resolved(`var(--${name})`);
}

/** What a colour of the page is just now: canvas knows neither variables nor light-dark(). */
function resolved(text: string): string {
  const probe = document.createElement("i");
  probe.style.color = text;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const HEIGHT = 180;
const SPANS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 21_600, 86_400, 604_800]; // seconds that are told in one word
const clockOf = (second: number) => new Date(second * 1000).toISOString().slice(11, 16);

function options(props: ChartProps, width: number): uPlot.Options {
  const ink = colour("ink-3");
  const line = colour("line");
  const bars = uPlot.paths.bars!({ size: [0.78, 60] });
  const long = props.times.length > 1 && props.times.at(-1)! - props.times[0]! > 2 * 86_400;
  const axis = {
    stroke: ink,
    font: "11px system-ui, sans-serif",
    ticks: { show: false },
    grid: { stroke: line, width: 1 },
  };
  return {
    width,
    height: HEIGHT,
    padding: [8, 6, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: true },
      y: props.log ? { distr: 3, log: 10 } : { range: (_u, _min, max) => [0, Math.max(1, max * 1.08)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        values: (_u, found) => found.map((at) => (long ? new Date(at * 1000).toISOString().slice(5, 10) : clockOf(at))),
        size: 28,
        space: 70,
      },
      {
        ...axis,
        size: props.log ? 48 : 44,
        incrs: props.jobs ? WHOLE : undefined,
        splits: props.log ? (_u, _axis, least, most) => SPANS.filter((one) => one >= least && one <= most) : undefined,
        values: (_u, found) => found.map((number) => (number === null ? "" : props.value(number))),
        space: 34,
      },
    ],
    series: [
      {},
      ...props.lines.map((one) => ({
        label: one.label,
        stroke: colour(`${one.tone}-fill`),
        fill: one.bars ? colour(`${one.tone}-fill`) : undefined,
        width: one.bars ? 0 : 2,
        dash: one.dash,
        paths: one.bars ? bars : undefined,
        points: { show: !one.bars, size: 4, fill: colour(`${one.tone}-fill`) },
        spanGaps: false,
      })),
    ],
  };
}

/** The line that is drawn at a place of the chart: the lowest stack that reaches above it. */
function lineAt(props: ChartProps, index: number, value: number): string | undefined {
  return [...props.lines].reverse().find((one) => (one.values[index] ?? 0) >= value)?.name;
}

export function Chart(props: ChartProps) {
  const { t } = useSpeech();
  const go = useNavigate();
  const [theme] = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [told, setTold] = useState(false);
  const [over, setOver] = useState<number | null>(null);
  const now = useRef(props);
  now.current = props;
  const shape = `${theme} ${props.lines.map((one) => one.label).join()} ${props.log}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a chart is made anew for other colours and words, else fed
  useEffect(() => {
    const place = box.current;
    if (!place) return;
    const data = () => [now.current.times, ...now.current.lines.map((one) => one.values)] as uPlot.AlignedData;
    const made = new uPlot(
      {
        ...options(now.current, place.clientWidth || 300),
        hooks: { setCursor: [(u) => setOver(u.cursor.idx ?? null)] },
      },
      data(),
      place,
    );
    plot.current = made;
    made.over.addEventListener("click", () => {
      const { idx, top } = made.cursor;
      const { jobs, times } = now.current;
      if (!jobs || idx === null || idx === undefined || times[idx] === undefined) return;
      const line = lineAt(now.current, idx, made.posToVal(top ?? 0, "y"));
      if (line) void go({ to: "/jobs", search: { q: jobs(times[idx], line) } });
    });
    const watch = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: HEIGHT }));
    watch.observe(place);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData([props.times, ...props.lines.map((one) => one.values)] as uPlot.AlignedData);
  }, [props.times, props.lines]);
  const at = over !== null && over < props.times.length ? over : props.times.length - 1;
  return (
    <Card title={props.title} sub={props.sub} end={props.end}>
      <div className="card-body">
        <p className="legend">{props.legend}</p>
        <p className="chart-told small soft" aria-hidden="true">
          {props.times.length > 0 && (
            <>
              <b>{clockOf(props.times[at]!)}</b> <Told props={props} at={at} />
            </>
          )}
        </p>
        <div
          className={`chart-box ${props.jobs ? "opens" : ""}`}
          ref={box}
          role="img"
          aria-label={`${props.title}: ${t("chart.table.hint")}`}
        />
        {props.jobs && <p className="small dim">{t("chart.open")}</p>}
        <button type="button" className="link small" aria-expanded={told} onClick={() => setTold(!told)}>
          {t(told ? "chart.hide" : "chart.table")}
        </button>
        {told && <Numbers props={props} />}
      </div>
    </Card>
  );
}

function Told({ props, at }: { props: ChartProps; at: number }) {
  const top = (place: number, index: number) => props.lines[place]?.values[index] ?? null;
  return (
    <>
      {props.lines.map((one) => {
        const value = bare(props, one, at, top);
        return (
          <span key={one.label}>
            {one.label} {value === null ? "–" : props.value(value)}
          </span>
        );
      })}
    </>
  );
}

/** Of a stacked line its own part. */
function bare(
  props: ChartProps,
  one: Line,
  at: number,
  top: (place: number, index: number) => number | null,
): number | null {
  const place = props.lines.indexOf(one);
  const value = one.values[at] ?? null;
  if (!one.bars || value === null) return value;
  return value - (top(place + 1, at) ?? 0);
}

function Numbers({ props }: { props: ChartProps }) {
  const { t, moment } = useSpeech();
  const top = (place: number, index: number) => props.lines[place]?.values[index] ?? null;
  return (
    <div className="scroll-x chart-numbers" tabIndex={0} role="group" aria-label={props.title}>
      <table className="t rows">
        <thead>
          <tr>
            <th scope="col">{t("items.when")}</th>
            {props.lines.map((one) => (
              <th key={one.label} scope="col" className="num">
                {one.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.times.map((at, index) => (
            <tr key={at}>
              <th scope="row">{moment(at * 1000)}</th>
              {props.lines.map((one) => {
                const value = bare(props, one, index, top);
                return (
                  <td key={one.label} className="num">
                    {value && props.jobs ? (
                      <Link to="/jobs" search={{ q: props.jobs(at, one.name) }}>
                        {props.value(value)}
                      </Link>
                    ) : value === null ? (
                      "–"
                    ) : (
                      props.value(value)
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

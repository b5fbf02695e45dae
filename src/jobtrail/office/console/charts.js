/* What is drawn of a module: the bar of its last 24 hours, and its figures by hour. */
import { choice, el, svg } from "../notify/parts.js";
import { NAMES, STATES, stateOf, word } from "./words.js";

const CELLS = 96; // quarters of an hour
const QUARTER = 15; // minutes
const HEIGHT = { error: 24, warning: 18, ok: 12, paused: 6, new: 6 }; // so that it can be read without colours
const BY_LETTER = Object.fromEntries(NAMES.map((name) => [STATES[name].letter, name]));

const clock = (at) => new Date(at).toISOString().slice(11, 16);

/** The letters of a bar as runs: [status or null, first cell, number of cells]. */
function runs(bar) {
  const found = [];
  [...bar].forEach((letter, place) => {
    const last = found.at(-1);
    const status = BY_LETTER[letter] ?? null;
    if (last && last[0] === status) last[2] += 1;
    else found.push([status, place, 1]);
  });
  return found;
}

/** The worst status of each quarter of an hour. */
export function dayBar(host, bar, from) {
  const start = Date.parse(from);
  const minutes = {};
  const parts = runs(bar.padStart(CELLS, "-")).map(([status, first, cells]) => {
    const height = status ? HEIGHT[status] : 2;
    if (status) minutes[status] = (minutes[status] ?? 0) + cells * QUARTER;
    const at = (cell) => clock(start + cell * QUARTER * 60_000);
    const told = `${status ? word(host, status) : host.text("nothing known", "нет данных")} ${at(first)}–${at(first + cells)}`;
    const shape = { class: status ? stateOf(status).tone : "none", x: first, y: 24 - height, width: cells, height };
    return svg("rect", shape, svg("title", {}, told));
  });
  const said = NAMES.filter((name) => minutes[name]).map(
    (name) => `${word(host, name)} ${host.formatAge(minutes[name] * 60)}`,
  );
  const label = `${host.text("Last 24 hours", "Последние 24 часа")}: ${said.join(", ") || host.text("nothing known", "нет данных")}`;
  return svg(
    "svg",
    { class: "om-bar", viewBox: `0 0 ${CELLS} 24`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    parts,
  );
}

const minutesIn = (hour, name) => hour.figures[`minutes.${name}`]?.value ?? 0;

/** A number as people read it: `1,024`, `0.25`. */
export function number(host, value) {
  if (value === null || value === undefined) return "–";
  return new Intl.NumberFormat(host.language === "ru" ? "ru-RU" : "en-US", { maximumFractionDigits: 2 }).format(value);
}

/** The figures of the last 24 hours: minutes in each state, beats, or one of the module's numbers. */
export function hourChart(host, hours, chosen, onchoose) {
  const numbers = [...new Set(hours.flatMap((one) => Object.keys(one.figures)))]
    .filter((name) => name.startsWith("number."))
    .sort();
  const options = [
    ["states", host.text("States", "Состояния")],
    ["beats", host.text("Beats", "Сигналы")],
    ...numbers.map((name) => [name, name.slice("number.".length)]),
  ];
  const measure = options.some(([name]) => name === chosen) ? chosen : "states";
  const seg = choice(host.text("What is drawn", "Что показано"), options, measure, onchoose);
  const drawn = measure === "states" ? stateColumns(host, hours) : valueColumns(host, hours, measure);
  const legend =
    measure === "states" ? stateLegend(host, hours) : el("p", { class: "legend" }, el("span", {}, drawn.told));
  const ticks = el(
    "div",
    { class: "om-ticks dim", "aria-hidden": "true" },
    hours.map((one, place) => el("span", {}, place % 4 === 0 ? clock(one.hour) : "")),
  );
  return el(
    "div",
    { class: "card-body om-chart" },
    el("div", { class: "om-choose" }, seg),
    legend,
    el(
      "div",
      { class: "om-plot" },
      el("div", { class: "om-scale dim", "aria-hidden": "true" }, el("span", {}, drawn.most), el("span", {}, "0")),
      drawn.svg,
    ),
    ticks,
    table(host, hours, numbers),
  );
}

function plot(hours, label, columns) {
  const size = {
    class: "om-columns",
    viewBox: `0 0 ${hours.length * 10} 60`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": label,
  };
  return svg(
    "svg",
    size,
    svg("path", {
      class: "om-grid",
      d: `M0 .5H${hours.length * 10}M0 30H${hours.length * 10}M0 59.5H${hours.length * 10}`,
    }),
    columns,
  );
}

function stateColumns(host, hours) {
  const columns = hours.map((hour, place) => {
    let top = 60;
    const parts = [...NAMES].reverse().map((name) => {
      const height = Math.min(minutesIn(hour, name), top);
      top -= height;
      return height > 0 && svg("rect", { class: STATES[name].tone, x: place * 10 + 1, y: top, width: 8, height });
    });
    const told = NAMES.filter((name) => minutesIn(hour, name)).map(
      (name) => `${word(host, name)} ${host.formatAge(minutesIn(hour, name) * 60)}`,
    );
    return svg("g", {}, svg("title", {}, `${clock(hour.hour)} ${told.join(", ")}`), parts);
  });
  const label = host.text("Minutes in each state, hour by hour", "Минуты в каждом состоянии по часам");
  return { svg: plot(hours, label, columns), most: "60" };
}

function stateLegend(host, hours) {
  const there = NAMES.filter((name) => hours.some((hour) => minutesIn(hour, name) > 0));
  return el(
    "p",
    { class: "legend" },
    there.map((name) => el("span", { class: STATES[name].tone }, el("i", { class: "sw" }), word(host, name))),
    el("span", {}, host.text("minutes of each hour", "минуты каждого часа")),
  );
}

function valueColumns(host, hours, measure) {
  const at = (hour) => hour.figures[measure];
  const most = Math.max(...hours.map((hour) => at(hour)?.most ?? at(hour)?.value ?? 0), 0);
  const scale = (value) => (most > 0 ? (Math.max(0, value) / most) * 58 : 0);
  const columns = hours.map((hour, place) => {
    const found = at(hour);
    if (!found || found.value === null) return null;
    const bar = svg("rect", {
      class: "running",
      x: place * 10 + 1,
      y: 60 - scale(found.value),
      width: 8,
      height: scale(found.value),
    });
    const range =
      found.most !== null &&
      svg("rect", {
        class: "om-range",
        x: place * 10 + 4.5,
        y: 60 - scale(found.most),
        width: 1,
        height: scale(found.most) - scale(found.least),
      });
    return svg("g", {}, svg("title", {}, `${clock(hour.hour)} ${spread(host, found)}`), bar, range);
  });
  const told =
    measure === "beats"
      ? host.text("beats in each hour", "сигналов за час")
      : host.text(
          "average of each hour; the line goes from the least to the most",
          "среднее за час; линия — от наименьшего до наибольшего",
        );
  return { svg: plot(hours, told, columns), most: number(host, most), told };
}

const spread = (host, found) =>
  found.least === null || found.least === undefined
    ? number(host, found.value)
    : `${number(host, found.least)} / ${number(host, found.value)} / ${number(host, found.most)}`;

/** The same as numbers, behind a button. */
function table(host, hours, numbers) {
  const heads = [
    host.text("hour (UTC)", "час (UTC)"),
    ...NAMES.map((name) => word(host, name)),
    host.text("beats", "сигналы"),
    host.text("flips", "смены"),
    host.text("longest gap", "дольше всего молчал"),
    ...numbers.map((name) => name.slice("number.".length)),
  ];
  const rows = () =>
    [...hours].reverse().map((hour) => {
      const found = hour.figures;
      const gap = found.longest_gap?.value;
      const cells = [
        ...NAMES.map((name) => number(host, found[`minutes.${name}`]?.value)),
        number(host, found.beats?.value),
        number(host, found.flips?.value),
        gap === undefined || gap === null ? "–" : host.formatAge(Math.round(gap)),
        ...numbers.map((name) => (found[name] ? spread(host, found[name]) : "–")),
      ];
      return el(
        "tr",
        {},
        el("th", { scope: "row" }, clock(hour.hour)),
        cells.map((cell) => el("td", { class: "num" }, cell)),
      );
    });
  const title = host.text("Figures by hour, states in minutes", "Показатели по часам, состояния в минутах");
  const place = el("div", {
    class: "scroll-x chart-numbers",
    tabindex: 0,
    role: "group",
    "aria-label": title,
    hidden: true,
  });
  const words = [host.text("The numbers as a table", "Числа таблицей"), host.text("Hide the table", "Скрыть таблицу")];
  const toggle = el(
    "button",
    {
      type: "button",
      class: "link small",
      "aria-expanded": "false",
      onclick: () => {
        const open = place.hidden;
        place.hidden = !open;
        toggle.setAttribute("aria-expanded", open);
        toggle.textContent = words[open ? 1 : 0];
        if (open && place.childElementCount === 0) {
          place.append(
            el(
              "table",
              { class: "t rows" },
              el(
                "thead",
                {},
                el(
                  "tr",
                  {},
                  heads.map((head, index) => el("th", { scope: "col", class: index ? "num" : null }, head)),
                ),
              ),
              el("tbody", {}, rows()),
            ),
          );
        }
      },
    },
    words[0],
  );
  return el("div", { class: "om-numbers" }, toggle, place);
}

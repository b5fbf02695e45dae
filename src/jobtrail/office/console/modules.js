/* The page "Modules" and its strip on the overview: who reports, who is silent, since when. */
import {
  arrange,
  card,
  choice,
  el,
  empty,
  every,
  icon,
  link,
  note,
  say,
  sheet,
  storeClock,
  tag,
  why,
} from "../notify/parts.js";
import { dayBar, number } from "./charts.js";
import { detail, pausedText, sleeping } from "./detail.js";
import { age, hasMoved, inOrder, inTrouble, isStale, merged, NAMES, stateOf, word, zzz } from "./words.js";

const TOPIC = "office.modules";
const PAGE = "/pages/office/modules";
const RELOAD_EVERY = 30; // seconds, for the bars and for what the topic leaves out
const FEW = 8; // modules that are found without a search

const pathOf = (name) => `${PAGE}?module=${encodeURIComponent(name)}`;

export async function mount(element, host) {
  await styles(element);
  const name = host.query().module;
  return name ? await one(element, host, name) : await all(element, host);
}

const styles = (element) => sheet(element, new URL("modules.css", import.meta.url));

/* -- one module ------------------------------------------------------------------------------------ */

async function one(element, host, name) {
  const clock = storeClock();
  const me = await host.get("me").catch(() => ({ role: "viewer" }));
  const view = detail(host, name, me.role, clock);
  element.append(view.box);
  await view.reload();
  const stops = [
    host.subscribe(TOPIC, (value) => view.update(value.find((module) => module.module === name))),
    every(1, view.tick),
    every(RELOAD_EVERY, view.reload),
  ];
  return () =>
    stops.forEach((stop) => {
      stop();
    });
}

/* -- all modules ----------------------------------------------------------------------------------- */

async function all(element, host) {
  const state = {
    modules: [],
    bars: new Map(),
    barFrom: null,
    watchedAt: null,
    watched: true,
    wanted: "",
    search: "",
    loaded: false,
  };
  const clock = storeClock();
  const parts = {
    cards: new Map(),
    grid: el("ul", { class: "om-grid-cards" }),
    head: el("div", { class: "om-head" }),
    told: el("div"),
  };
  const box = el("div", { class: "om-page" }, parts.told, parts.head, parts.grid);
  element.append(box);

  async function reload() {
    try {
      const found = await host.get("modules");
      clock.set(found.now);
      state.loaded = true;
      state.problem = null;
      state.barFrom = found.bar_from;
      state.bars = new Map(found.modules.map((module) => [module.module, module.bar]));
      state.modules = found.modules;
      state.watchedAt = found.watched_at;
      state.watched = found.watch_by !== null && Date.parse(found.now) <= Date.parse(found.watch_by);
    } catch (error) {
      state.problem = why(error);
    }
    draw();
  }

  function take(told) {
    const moved = hasMoved(state.modules, told);
    state.modules = merged(state.modules, told);
    draw();
    if (moved) reload();
  }

  function draw() {
    drawList(host, state, parts, clock.now());
  }

  parts.draw = draw;
  await reload();
  const stops = [host.subscribe(TOPIC, take), every(1, draw), every(RELOAD_EVERY, reload)];
  return () =>
    stops.forEach((stop) => {
      stop();
    });
}

function drawList(host, state, parts, now) {
  drawTold(host, state, parts);
  drawHead(host, state, parts, now);
  const shown = inOrder(state.modules, now).filter((module) => isWanted(module, state, now));
  const names = new Set(state.modules.map((module) => module.module));
  for (const name of [...parts.cards.keys()]) if (!names.has(name)) parts.cards.delete(name);
  const cards = shown.map((module) => {
    const found = parts.cards.get(module.module) ?? moduleCard(host, module.module);
    parts.cards.set(module.module, found);
    found.update(module, state.bars.get(module.module) ?? "", state.barFrom, now);
    return found.item;
  });
  arrange(parts.grid, cards);
  parts.grid.hidden = cards.length === 0;
}

function isWanted(module, state, now) {
  if (state.search && !module.module.toLowerCase().includes(state.search)) return false;
  if (state.wanted === "stale") return isStale(module, now);
  return !state.wanted || module.status === state.wanted;
}

function drawTold(host, state, parts) {
  const found = [];
  if (state.problem) found.push(["failed", "error", state.problem]);
  if (state.loaded && state.modules.length > 0 && !state.watched)
    found.push(["warning", "warning", unwatched(host, state)]);
  const key = found.map((one) => one[2]).join("\n");
  if (parts.told.dataset.key !== key) {
    parts.told.dataset.key = key;
    parts.told.replaceChildren(...found.map(([tone, shape, text]) => note(tone, shape, text)));
  }
  parts.told.hidden = found.length === 0;
}

function unwatched(host, state) {
  const since = state.watchedAt ? host.formatTime(state.watchedAt) : null;
  return host.text(
    `Nobody watches${since ? ` since ${since}` : ""}: no worker with Office runs. The states may be old; silence is shown all the same.`,
    `Никто не следит${since ? ` с ${since}` : ""}: исполнитель с Office не работает. Состояния могли устареть; тишина видна и так.`,
  );
}

/** Counts, which are filters at the same time, and a search where there are many. */
function drawHead(host, state, parts, now) {
  const count = (name) => state.modules.filter((module) => module.status === name).length;
  const stale = state.modules.filter((module) => isStale(module, now)).length;
  const options = [
    ["", `${host.text("all", "все")} ${state.modules.length}`],
    ...NAMES.filter((name) => count(name) > 0 || state.wanted === name).map((name) => [
      name,
      `${word(host, name)} ${count(name)}`,
    ]),
    ...(stale > 0 || state.wanted === "stale" ? [["stale", `${host.text("silent", "молчит")} ${stale}`]] : []),
  ];
  const key = JSON.stringify([options, state.wanted, state.modules.length > FEW, state.loaded, state.problem]);
  if (parts.head.dataset.key === key) return;
  parts.head.dataset.key = key;
  if (!state.loaded || state.modules.length === 0) {
    parts.head.replaceChildren(...(state.loaded ? [nothing(host)] : []));
    return;
  }
  const focused = parts.head.contains(document.activeElement) ? document.activeElement.tagName : null;
  parts.search ??= searchField(host, state, parts);
  arrange(parts.head, [
    choice(
      host.text("Which modules", "Какие модули"),
      options.map(([name, text]) => [name, name === "stale" ? [zzz(), text] : text]),
      state.wanted,
      (next) => {
        state.wanted = next;
        parts.draw();
      },
    ),
    ...(state.modules.length > FEW ? [parts.search] : []),
  ]);
  if (focused === "BUTTON") parts.head.querySelector("[aria-pressed=true]")?.focus();
}

function searchField(host, state, parts) {
  const label = host.text("Find a module", "Найти модуль");
  return el("input", {
    class: "input om-search",
    type: "search",
    placeholder: label,
    "aria-label": label,
    oninput: (event) => {
      state.search = event.target.value.trim().toLowerCase();
      parts.draw();
    },
  });
}

const nothing = (host) =>
  card(
    host.text("No modules yet", "Модулей ещё нет"),
    {},
    empty(
      host.text("A module is here after its first beat:", "Модуль появится после первого сигнала:"),
      'jobs.office.beat("parser"), jobtrail beat parser, POST /api/modules/parser/activity',
    ),
  );

/** A card that stays the same element while its module changes. */
function moduleCard(host, name) {
  const badge = el("span", { class: "om-state" });
  const heard = el("span", { class: "om-age small" });
  const since = el("p", { class: "small dim" });
  const message = el("p", { class: "om-message small" });
  const bar = el("div");
  const numbers = el("p", { class: "om-values small" });
  const title = el("h2", {}, link(host, pathOf(name), { class: "main break" }, name));
  const item = el(
    "li",
    { class: "card om-card" },
    el("div", { class: "om-card-top" }, title, badge),
    heard,
    bar,
    message,
    numbers,
    since,
  );
  const drawn = {};
  function changed(part, key) {
    const differs = drawn[part] !== key;
    drawn[part] = key;
    return differs;
  }
  function update(module, letters, from, now) {
    const stale = isStale(module, now);
    const shown = stateOf(module.status);
    if (changed("badge", module.status)) badge.replaceChildren(tag(shown.tone, shown.shape, word(host, module.status)));
    if (changed("tone", shown.tone + stale)) item.className = `card om-card ${shown.tone} ${stale ? "stale" : ""}`;
    if (changed("heard", age(host, module, now) + stale))
      heard.replaceChildren(...(stale ? [sleeping(host)] : []), el("span", {}, age(host, module, now)));
    if (changed("bar", letters + from)) bar.replaceChildren(...(letters ? [dayBar(host, letters, from)] : []));
    say(message, module.message ?? "");
    message.hidden = !module.message;
    say(
      numbers,
      Object.entries(module.numbers ?? {})
        .map(([key, value]) => `${key} ${number(host, value)}`)
        .join(" · "),
    );
    numbers.hidden = numbers.textContent === "";
    say(since, sinceText(host, module));
  }
  return { item, update };
}

function sinceText(host, module) {
  if (module.status === "paused")
    return host.text(`Paused ${pausedText(host, module)}`, `На паузе ${pausedText(host, module)}`);
  const since = host.text(`since ${host.formatTime(module.since)}`, `с ${host.formatTime(module.since)}`);
  return module.quiet_now ? `${since} · ${host.text("quiet hours now", "сейчас часы тишины")}` : since;
}

/* -- the strip of the overview --------------------------------------------------------------------- */

export async function strip(element, host) {
  await styles(element);
  const clock = storeClock();
  let modules = [];
  const counts = el("p", { class: "om-counts" });
  const list = el("ul", { class: "mini" });
  element.append(counts, list);

  function draw() {
    const now = clock.now();
    const troubled = inOrder(
      modules.filter((module) => inTrouble(module, now)),
      now,
    );
    const key = JSON.stringify([
      modules.map((module) => module.status).sort(),
      troubled.map((module) => [module.module, module.status, age(host, module, now)]),
    ]);
    if (element.dataset.key === key) return;
    element.dataset.key = key;
    counts.replaceChildren(...countTags(host, modules));
    arrangeLines(host, list, troubled, now);
    list.hidden = troubled.length === 0;
  }

  async function reload() {
    try {
      const found = await host.get("modules?bars=false");
      clock.set(found.now);
      modules = found.modules;
      draw();
    } catch (error) {
      counts.replaceChildren(why(error));
    }
  }

  function take(told) {
    const moved = hasMoved(modules, told);
    modules = merged(modules, told);
    draw();
    if (moved) reload();
  }

  await reload();
  const stops = [host.subscribe(TOPIC, take), every(1, draw)];
  return () =>
    stops.forEach((stop) => {
      stop();
    });
}

function countTags(host, modules) {
  if (modules.length === 0) return [el("span", { class: "dim" }, host.text("no modules yet", "модулей ещё нет"))];
  return NAMES.map((name) => [name, modules.filter((module) => module.status === name).length])
    .filter(([, count]) => count > 0)
    .map(([name, count]) => tag(stateOf(name).tone, stateOf(name).shape, `${count} ${word(host, name)}`));
}

/** The modules in trouble; a line keeps its element, so that a focus stays. */
function arrangeLines(host, list, troubled, now) {
  const there = new Map([...list.children].map((line) => [line.dataset.module, line]));
  arrange(
    list,
    troubled.slice(0, FEW).map((module) => {
      const line =
        there.get(module.module) ??
        el(
          "li",
          { "data-module": module.module },
          el("span", { class: "om-mark" }),
          link(host, pathOf(module.module), { class: "break" }, module.module),
          el("span", { class: "end" }),
        );
      const shown = stateOf(module.status);
      const [mark, , end] = line.children;
      if (mark.dataset.status !== module.status) {
        mark.dataset.status = module.status;
        mark.className = `om-mark st ${shown.tone}`;
        mark.replaceChildren(icon(shown.shape), el("span", { class: "vh" }, word(host, module.status)));
      }
      end.replaceChildren(...(isStale(module, now) ? [zzz(), " "] : []), age(host, module, now));
      return line;
    }),
  );
}

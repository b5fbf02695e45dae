/* One module: what it says, its figures, its history, and what may be done with it. */
import { arrange, button, card, el, empty, icon, link, note, say, tag, why } from "../notify/parts.js";
import * as changes from "./changes.js";
import { dayBar, hourChart, number } from "./charts.js";
import { age, isStale, stateOf, word, zzz } from "./words.js";

const PAGE = "/pages/office/modules";
const LINES = 100; // of history at a time

/** A view of one module; `update(module)` shows what has changed, `reload()` asks for history and figures again. */
export function detail(host, name, role, clock) {
  const state = { module: null, found: null, measure: "states", older: [], gone: false };
  const box = el("div", { class: "om-page" });
  const facts = el("dl", { class: "kv" });
  const acts = el("div", { class: "om-acts" });
  const top = el("div", { class: "om-top" });
  const back = link(
    host,
    PAGE,
    { class: "om-back" },
    icon("left"),
    el("span", {}, host.text("All modules", "Все модули")),
  );
  const bar = el("div");
  const chart = el("div");
  const lines = el("tbody");
  const more = el("div", { class: "card-body" });
  const head = card(name, {}, el("div", { class: "card-body om-detail" }, top, bar, facts, acts));
  const history = card(host.text("Changes of state", "Смены состояния"), {}, historyTable(host, lines), more);
  const figures = card(host.text("The last 24 hours, hour by hour", "Последние 24 часа по часам"), {}, chart);
  box.append(back, el("p", { class: "waiting dim small" }, host.text("Loading …", "Загрузка …")));

  async function reload() {
    try {
      const found = await host.get(`modules/${encodeURIComponent(name)}`);
      clock.set(found.now);
      Object.assign(state, { found, module: found.module, gone: false, older: [] });
      draw();
    } catch (error) {
      state.gone = error?.status === 404;
      const text = state.gone ? host.text(`There is no module ${name}.`, `Модуля ${name} нет.`) : why(error);
      arrange(box, [back, note(state.gone ? "" : "failed", state.gone ? "info" : "error", text, true)]);
    }
  }

  function draw() {
    arrange(box, [back, head, figures, history]);
    bar.replaceChildren(dayBar(host, state.found.module.bar, state.found.bar_from), ends(host));
    chart.replaceChildren(
      hourChart(host, state.found.hours, state.measure, (next) => {
        state.measure = next;
        draw();
        chart.querySelector("[aria-pressed=true]")?.focus();
      }),
    );
    const all = [...state.found.history, ...state.older];
    lines.replaceChildren(...all.map((one) => historyLine(host, one)));
    more.replaceChildren(...footer(all));
    update(state.module);
  }

  function footer(all) {
    if (all.length === 0)
      return [empty(host.text("Nothing has changed in the last day", "За последние сутки ничего не менялось"))];
    const full = all.length % LINES === 0;
    return full ? [button(host.text("Older", "Раньше"), () => older(all.at(-1).at), "quiet")] : [];
  }

  async function older(before) {
    const found = await host.get(
      `modules/${encodeURIComponent(name)}/history?limit=${LINES}&before=${encodeURIComponent(before)}`,
    );
    if (found.history.length === 0) more.replaceChildren();
    else {
      state.older.push(...found.history);
      draw();
    }
  }

  function update(module) {
    if (!state.found) return;
    if (!module) {
      if (!state.gone) reload();
      return;
    }
    const moved = module.status !== state.module.status || module.since !== state.module.since;
    const acted =
      moved || module.paused_until !== state.module.paused_until || module.own_limits !== state.module.own_limits;
    state.module = { ...state.module, ...module };
    if (moved) reload();
    if (acted || acts.childElementCount === 0) acts.replaceChildren(...actions(host, state, role, reload));
    tick();
  }

  function tick() {
    if (!state.found) return;
    const now = clock.now();
    const stale = isStale(state.module, now);
    const shown = stateOf(state.module.status);
    const key = `${state.module.status} ${stale}`;
    if (top.dataset.key !== key) {
      top.dataset.key = key;
      top.replaceChildren(
        tag(shown.tone, shown.shape, word(host, state.module.status)),
        ...(stale ? [sleeping(host)] : []),
      );
    }
    rows(facts, factsOf(host, state.module, now));
  }

  return { box, reload, update, tick };
}

export const sleeping = (host) => el("span", { class: "om-sleep" }, zzz(), host.text("silent", "молчит"));

const ends = (host) =>
  el(
    "p",
    { class: "om-ends dim small", "aria-hidden": "true" },
    el("span", {}, host.text("24 h ago", "24 ч назад")),
    el("span", {}, host.text("now", "сейчас")),
  );

function rows(list, pairs) {
  if (list.children.length !== pairs.length * 2) list.replaceChildren(...pairs.flatMap(() => [el("dt"), el("dd")]));
  pairs.forEach(([name, value], place) => {
    say(list.children[place * 2], name);
    say(list.children[place * 2 + 1], value);
  });
}

function factsOf(host, module, now) {
  const span = (seconds) => host.formatAge(seconds);
  const at = module.last_activity ? `, ${host.formatTime(module.last_activity)}` : "";
  const numbers = Object.entries(module.numbers ?? {}).map(([name, value]) => `${name} ${number(host, value)}`);
  const found = [
    [host.text("last heard of", "последний сигнал"), age(host, module, now) + at],
    [
      host.text("in this state", "в состоянии"),
      host.text(`since ${host.formatTime(module.since)}`, `с ${host.formatTime(module.since)}`),
    ],
    [
      host.text("limits", "пределы"),
      host.text(
        `warning after ${span(module.warn_after)}, error after ${span(module.error_after)}${module.own_limits ? " (its own)" : ""}`,
        `предупреждение через ${span(module.warn_after)}, ошибка через ${span(module.error_after)}${module.own_limits ? " (свои)" : ""}`,
      ),
    ],
    [host.text("says", "сообщает"), module.message || "–"],
    [host.text("numbers", "числа"), numbers.join(", ") || "–"],
  ];
  if (module.recovery_beats > 1)
    found.push([
      host.text("ok again after", "в порядке после"),
      host.text(`${module.recovery_beats} beats in a row`, `сигналов подряд: ${module.recovery_beats}`),
    ]);
  if (module.quiet_hours)
    found.push([
      host.text("quiet hours", "часы тишины"),
      module.quiet_hours + (module.quiet_now ? host.text(" (now)", " (сейчас)") : ""),
    ]);
  if (module.status === "paused") found.push([host.text("paused", "пауза"), pausedText(host, module)]);
  return found;
}

/** Until when it is paused, by whom and why. */
export function pausedText(host, module) {
  const until = module.paused_until
    ? host.text(`until ${host.formatTime(module.paused_until)}`, `до ${host.formatTime(module.paused_until)}`)
    : host.text("until somebody resumes it", "пока кто-нибудь не возобновит");
  return [until, module.pause_actor, module.pause_reason].filter(Boolean).join(", ");
}

function actions(host, state, role, reload) {
  if (role !== "operator" && role !== "admin") return [];
  const open =
    (what, after = reload) =>
    () =>
      what(host, state.module, after);
  const isPaused = state.module.status === "paused";
  const found = [
    button(
      isPaused ? host.text("Pause anew …", "Пауза заново …") : host.text("Pause …", "Приостановить …"),
      open(changes.pause),
    ),
  ];
  if (isPaused) found.unshift(button(host.text("Resume …", "Возобновить …"), open(changes.resume), "primary"));
  if (role === "admin") {
    found.push(button(host.text("Limits …", "Пределы …"), open(changes.limits)));
    found.push(
      button(
        host.text("Remove …", "Удалить …"),
        open(changes.remove, () => host.go(PAGE)),
        "danger",
      ),
    );
  }
  return found;
}

function historyTable(host, body) {
  const heads = [
    host.text("when", "когда"),
    host.text("state", "состояние"),
    host.text("why", "почему"),
    host.text("who", "кто"),
  ];
  return el(
    "table",
    { class: "t cards stack om-history" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        heads.map((head) => el("th", { scope: "col" }, head)),
      ),
    ),
    body,
  );
}

function historyLine(host, line) {
  const to = stateOf(line.to);
  const isNote = line.from === line.to;
  const removed = line.to === "removed" ? host.text("removed", "удалён") : word(host, line.to);
  const state = isNote
    ? el("span", { class: "dim" }, host.text("note", "заметка"))
    : el(
        "span",
        { class: "om-move" },
        line.from ? el("span", { class: "dim" }, `${word(host, line.from)} →`) : null,
        tag(to.tone, to.shape, removed),
      );
  return el(
    "tr",
    {},
    el("td", { class: "nowrap" }, host.formatTime(line.at)),
    el("td", {}, state),
    el("td", { class: "break" }, line.reason ?? ""),
    el("td", { class: "break dim" }, line.actor ?? ""),
  );
}

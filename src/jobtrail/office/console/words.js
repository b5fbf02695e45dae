/* The states of modules: their order, colours, shapes and words, and when a module is silent. */
import { el, icon } from "../notify/parts.js";

export const STATES = {
  error: { tone: "error", shape: "error", letter: "e", en: "error", ru: "ошибка" },
  warning: { tone: "warning", shape: "warning", letter: "w", en: "warning", ru: "предупреждение" },
  new: { tone: "pending", shape: "waiting", letter: "n", en: "new", ru: "новый" },
  paused: { tone: "paused", shape: "paused", letter: "p", en: "paused", ru: "на паузе" },
  ok: { tone: "ok", shape: "ok", letter: "o", en: "ok", ru: "в порядке" },
};
export const NAMES = Object.keys(STATES); // the worst first

export const stateOf = (status) =>
  STATES[status] ?? { tone: "pending", shape: "info", letter: "", en: status, ru: status };

export function word(host, status) {
  const state = stateOf(status);
  return host.text(state.en, state.ru);
}

/** Seconds since the module was last heard of; null if it never reported. */
export function ageOf(module, now) {
  return module.last_activity ? Math.max(0, (now - Date.parse(module.last_activity)) / 1000) : null;
}

/** Silent by its last activity alone, whatever its status says: so it is seen without a running worker, too. */
export function isStale(module, now) {
  if (module.status === "paused") return false;
  const from = Date.parse(module.last_activity ?? module.registered_at);
  return (now - from) / 1000 >= (module.warn_after ?? Number.POSITIVE_INFINITY);
}

/** The modules as the live topic tells them, which leaves out what seldom changes, over what the API has told of them. */
export function merged(known, told) {
  const before = new Map(known.map((module) => [module.module, module]));
  return told.map((module) => ({ ...before.get(module.module), ...module }));
}

/** Whether the live topic tells more than it says: another status, a new module, a longer or shorter pause. */
export function hasMoved(known, told) {
  const before = new Map(known.map((module) => [module.module, module]));
  return told.some((module) => {
    const old = before.get(module.module);
    return (
      !old || old.status !== module.status || old.since !== module.since || old.paused_until !== module.paused_until
    );
  });
}

export function age(host, module, now) {
  const seconds = ageOf(module, now);
  if (seconds === null) return host.text("never reported", "сигналов не было");
  if (seconds < 1) return host.text("just now", "только что");
  const span = host.formatAge(Math.floor(seconds));
  return host.text(`${span} ago`, `${span} назад`);
}

/** In trouble: in warning or error, or silent. */
export const inTrouble = (module, now) =>
  module.status === "error" || module.status === "warning" || isStale(module, now);

/** The worst first: error, warning, silent, then the others. */
export function inOrder(modules, now) {
  const rank = (one) => {
    const place = NAMES.indexOf(one.status);
    return place > 1 && isStale(one, now) ? 1.5 : place;
  };
  return [...modules].sort((a, b) => rank(a) - rank(b) || a.module.localeCompare(b.module));
}

/** 💤, drawn: not every machine has a font with it. */
export const zzz = () => el("span", { class: "om-zzz", role: "img", "aria-label": "💤" }, icon("sleep"));

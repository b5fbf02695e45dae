/* Small parts for the pages of plug-ins, in the clothes of the console: elements, icons, states, dialogs, a ticking clock. */

const SVG = "http://www.w3.org/2000/svg";
const FULL = "M5.3 1.6h5.4l3.7 3.7v5.4l-3.7 3.7H5.3l-3.7-3.7V5.3z";

/* As in the console: a state is always shape, word and colour. [tag, attributes] */
const SHAPES = {
  ok: [
    ["circle", { cx: 8, cy: 8, r: 6.2 }],
    ["path", { d: "M5 8.3 7.2 10.4 11 5.9" }],
  ],
  warning: [
    ["path", { d: "M8 1.9 14.6 13.6H1.4z" }],
    ["path", { d: "M8 6.2v3.4M8 11.6v.1" }],
  ],
  error: [
    ["path", { d: FULL, fill: "currentColor", stroke: "none" }],
    ["path", { d: "M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4", stroke: "var(--hole, var(--surface))", "stroke-width": 1.8 }],
  ],
  paused: [
    ["circle", { cx: 8, cy: 8, r: 6.2 }],
    ["path", { d: "M6.4 5.6v4.8M9.6 5.6v4.8" }],
  ],
  waiting: [
    ["circle", { cx: 8, cy: 8, r: 6.2, "stroke-dasharray": "2.6 1.7" }],
    ["path", { d: "M8 4.8V8l2.2 1.5" }],
  ],
  off: [
    ["circle", { cx: 8, cy: 8, r: 6.2 }],
    ["path", { d: "M3.8 12.2 12.2 3.8" }],
  ],
  left: [["path", { d: "M10 3.5 5.5 8l4.5 4.5" }]],
  x: [["path", { d: "m4 4 8 8M12 4l-8 8" }]],
  gap: [["rect", { x: 2.5, y: 2.5, width: 11, height: 11, rx: 1.5, "stroke-dasharray": "2.4 2" }]],
  sleep: [
    ["path", { d: "M1.8 8.8h4l-4 5h4" }],
    ["path", { d: "M7 4.8h3.4L7 9.2h3.4" }],
    ["path", { d: "M11.6 1.6h2.8l-2.8 3.6h2.8" }],
  ],
  info: [
    ["circle", { cx: 8, cy: 8, r: 6.2 }],
    ["path", { d: "M8 7.3v3.7M8 5v.1" }],
  ],
};

/** An element with attributes and children; `on…` attributes are listeners, null and false are left out. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for a drawing. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== false && one !== ""));
  return element;
}

export function icon(shape) {
  const parts = SHAPES[shape].map(([tag, attributes]) => svg(tag, attributes));
  return svg("svg", { class: "i", viewBox: "0 0 16 16", "aria-hidden": "true" }, parts);
}

/** A state: `tone` is a class of the console's colours. */
export function tag(tone, shape, word) {
  return el("span", { class: `st badge ${tone}` }, icon(shape), el("span", {}, word));
}

export function note(tone, shape, text, alert = false) {
  return el("p", { class: `note ${tone}`, role: alert ? "alert" : null }, icon(shape), el("span", {}, text));
}

export function card(title, { sub, end, level = "h2", className = "" } = {}, ...children) {
  const id = `h-${++card.made}`;
  const head = el(
    "div",
    { class: "card-head" },
    el(level, { id }, title),
    sub && el("span", { class: "dim small" }, sub),
    end && el("span", { class: "end" }, end),
  );
  return el("section", { class: `card ${className}`, "aria-labelledby": id }, head, children);
}
card.made = 0;

export function button(text, onclick, look = "") {
  return el("button", { type: "button", class: `btn ${look}`, onclick }, text);
}

/** A link to a page of the console. */
export function link(host, path, attributes, ...children) {
  const onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    host.go(path);
  };
  return el("a", { href: `#${path}`, ...attributes, onclick }, children);
}

export function empty(title, text) {
  return el(
    "div",
    { class: "empty" },
    icon("gap"),
    el("p", {}, el("b", {}, title), text && el("span", {}, ` ${text}`)),
  );
}

/** A choice of a few; the chosen one is pressed. `options` are [value, text or elements]. */
export function choice(label, options, value, onchange) {
  const buttons = options.map(([one, text]) =>
    el("button", { type: "button", "aria-pressed": String(one === value), onclick: () => choose(one) }, text),
  );
  const choose = (next) => {
    buttons.forEach((one, place) => {
      one.setAttribute("aria-pressed", options[place][0] === next);
    });
    onchange(next);
  };
  return el("fieldset", { class: "seg" }, el("legend", { class: "vh" }, label), buttons);
}

export function field(text, input, hint) {
  return el("label", { class: "line-field" }, el("span", {}, text), input, hint && el("span", { class: "dim" }, hint));
}

/** Puts children in their places and leaves those that are there already, so that none loses the focus. */
export function arrange(parent, children) {
  const wanted = new Set(children);
  for (const one of [...parent.childNodes]) if (!wanted.has(one)) one.remove();
  children.forEach((one, place) => {
    if (parent.childNodes[place] === one) return;
    const focused = one.contains(document.activeElement) ? document.activeElement : null;
    parent.insertBefore(one, parent.childNodes[place] ?? null);
    focused?.focus();
  });
}

/** Sets the text of an element if it is another one. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A style sheet beside a module; the promise ends when it is there, or cannot be had. */
export function sheet(parent, address) {
  return new Promise((ready) => {
    parent.append(el("link", { rel: "stylesheet", href: address, onload: ready, onerror: ready }));
  });
}

/** The store's time, although this machine has another; `set` with a time that the API has just told. */
export function storeClock() {
  let ahead = 0;
  return {
    set: (iso) => {
      ahead = Date.parse(iso) - Date.now();
    },
    now: () => Date.now() + ahead,
  };
}

/** Repeats something every `seconds` until the returned function is called. */
export function every(seconds, work) {
  const timer = setInterval(work, seconds * 1000);
  return () => clearInterval(timer);
}

/** What stands in an error of the API. */
export const why = (error) => error?.detail ?? error?.message ?? String(error);

/** A dialog: what is done, its fields, its verb. `run` is given the form and may fail. */
export function ask(host, { title, text, fields = [], verb, danger = false, run, after }) {
  const told = el("div");
  const go = el("button", { type: "submit", class: `btn ${danger ? "danger" : "primary"}` }, verb);
  const close = () => box.close();
  const form = el(
    "form",
    { class: "dialog-body" },
    text && el("p", { class: "soft" }, text),
    fields,
    told,
    el("div", { class: "dialog-foot" }, go, button(host.text("Leave it", "Оставить"), close, "quiet")),
  );
  const shut = el(
    "button",
    { type: "button", class: "icon-btn", "aria-label": host.text("Close", "Закрыть"), onclick: close },
    icon("x"),
  );
  const box = el(
    "dialog",
    { class: "dialog", "aria-label": title, onclose: () => box.remove() },
    el("header", { class: "card-head" }, el("h2", {}, title), el("span", { class: "end" }, shut)),
    form,
  );
  let busy = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (busy) return;
    busy = true;
    try {
      await run(new FormData(form));
      box.close();
      after?.();
    } catch (error) {
      told.replaceChildren(note("failed", "error", why(error), true));
    }
    busy = false;
  });
  document.body.append(box);
  box.showModal();
  return () => {
    if (box.isConnected) box.close();
  };
}

/* The page "Notifications": the inbox, channels and how they are, deliveries with their jobs, rules. */
import { arrange, button, card, choice, el, empty, every, link, note, sheet, storeClock, tag, why } from "./parts.js";

const TOPIC = "notify.inbox";
const LIMIT = 30; // messages, and deliveries
const RELOAD_EVERY = 15; // seconds

const CHANNEL = {
  enabled: { tone: "ok", shape: "ok", en: "works", ru: "работает" },
  failing: { tone: "warning", shape: "warning", en: "failing", ru: "сбои" },
  disabled: { tone: "error", shape: "error", en: "disabled", ru: "отключён" },
};
const DELIVERY = {
  collecting: { tone: "pending", shape: "waiting", en: "collecting", ru: "собирается" },
  queued: { tone: "pending", shape: "waiting", en: "queued", ru: "в очереди" },
  sent: { tone: "ok", shape: "ok", en: "sent", ru: "отправлено" },
  failed: { tone: "error", shape: "error", en: "failed", ru: "не отправлено" },
  replaced: { tone: "warning", shape: "warning", en: "told by another channel", ru: "передано другим каналом" },
};

const stateTag = (host, states, name) => {
  const found = states[name] ?? { tone: "pending", shape: "info", en: name, ru: name };
  return tag(found.tone, found.shape, host.text(found.en, found.ru));
};

export async function mount(element, host) {
  await sheet(element, new URL("messages.css", import.meta.url));
  const me = await host.get("me").catch(() => ({ role: "viewer" }));
  const page = {
    host,
    me,
    clock: storeClock(),
    told: el("div"),
    tested: el("div", { role: "status" }),
    inbox: el("div"),
    channels: el("div"),
    deliveries: el("div"),
    rules: el("div"),
    shown: "unread",
    entries: [],
    unread: 0,
    more: false,
    busy: new Set(),
    wanted: "",
  };
  const box = el(
    "div",
    { class: "nm-page" },
    el("p", { class: "waiting dim small" }, host.text("Loading …", "Загрузка …")),
  );
  element.append(box);
  const reload = () => load(page, box);
  page.reload = reload;
  await reload();
  const stops = [host.subscribe(TOPIC, (value) => news(page, value)), every(RELOAD_EVERY, reload)];
  return () =>
    stops.forEach((stop) => {
      stop();
    });
}

/** A new message, or one that somebody has read elsewhere. */
function news(page, value) {
  const newest = value.entries[0]?.id ?? null;
  const known = page.entries.find((one) => !one.read_at)?.id ?? null;
  if (value.unread !== page.unread || newest !== known) page.reload();
}

async function load(page, box) {
  const { host } = page;
  try {
    const kept = Math.min(500, Math.max(LIMIT, page.entries.length));
    const state = page.wanted ? `&state=${page.wanted}` : "";
    const [unread, inbox, channels, deliveries, rules] = await Promise.all([
      host.get(`plugins/notify/inbox?unread=true&limit=${kept}`),
      host.get(`plugins/notify/inbox?limit=${kept}`),
      host.get("plugins/notify/channels"),
      host.get(`plugins/notify/deliveries?limit=${LIMIT}${state}`),
      host.get("plugins/notify/rules"),
    ]);
    const read = inbox.entries.filter((one) => one.read_at);
    Object.assign(page, {
      entries: [...unread.entries, ...read],
      unread: inbox.unread,
      more: inbox.entries.length === kept,
      oldest: inbox.entries.at(-1)?.id,
    });
    page.told.replaceChildren();
    drawInbox(page);
    redraw(page.channels, channels, () => channelCard(page, channels));
    redraw(page.deliveries, [deliveries, page.wanted], () => deliveryCard(page, deliveries));
    redraw(page.rules, rules, () => ruleCard(page, rules));
    arrange(box, [page.told, page.inbox, page.tested, page.channels, page.deliveries, page.rules]);
  } catch (error) {
    page.told.replaceChildren(note("failed", "error", why(error), true));
    arrange(box, [
      page.told,
      ...[...box.children].filter((one) => one !== page.told && !one.classList.contains("waiting")),
    ]);
  }
}

/** Draws a part anew only if what it shows has changed, and keeps the focus where it was. */
function redraw(place, value, draw) {
  const key = JSON.stringify(value);
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  const all = () => [...place.querySelectorAll("a, button")];
  const at = all().indexOf(document.activeElement);
  place.replaceChildren(draw());
  if (at >= 0) all()[at]?.focus();
}

/* -- inbox ----------------------------------------------------------------------------------------- */

function drawInbox(page) {
  const shown = page.entries.filter((one) => page.shown === "all" || !one.read_at);
  redraw(page.inbox, [shown, page.unread, page.shown, page.more], () => inboxCard(page, shown));
}

function inboxCard(page, shown) {
  const { host } = page;
  const may = page.me.role === "operator" || page.me.role === "admin";
  const count = page.unread >= 1000 ? "1000+" : String(page.unread);
  const seg = choice(
    host.text("Which messages", "Какие сообщения"),
    [
      ["unread", `${host.text("unread", "непрочитанные")} ${count}`],
      ["all", host.text("all", "все")],
    ],
    page.shown,
    (next) => {
      page.shown = next;
      drawInbox(page);
    },
  );
  const all =
    may && page.unread > 0 && button(host.text("Mark all as read", "Отметить все прочитанными"), () => mark(page, ""));
  const list =
    shown.length > 0
      ? el(
          "ol",
          { class: "nm-inbox" },
          shown.map((one) => entry(page, one, may)),
        )
      : empty(
          page.shown === "unread"
            ? host.text("Nothing unread", "Непрочитанного нет")
            : host.text("No messages yet", "Сообщений ещё нет"),
        );
  const older =
    page.shown === "all" &&
    page.more &&
    el(
      "div",
      { class: "card-body" },
      button(host.text("Older", "Раньше"), () => more(page), "quiet"),
    );
  return card(host.text("Inbox", "Входящие"), { end: [seg, all].filter(Boolean) }, list, older);
}

function entry(page, one, may) {
  const { host } = page;
  const text =
    one.body && one.body.trim() !== one.title.trim() ? el("p", { class: "nm-body small soft" }, one.body) : null;
  const read = one.read_at
    ? el(
        "p",
        { class: "small dim" },
        host.text(
          `read ${host.formatTime(one.read_at)} by ${one.read_by}`,
          `прочитано ${host.formatTime(one.read_at)}, ${one.read_by}`,
        ),
      )
    : null;
  const verb = host.text("Mark as read", "Прочитано");
  const act =
    !one.read_at && may
      ? el(
          "button",
          {
            type: "button",
            class: "btn quiet",
            "aria-label": `${verb}: ${one.title}`,
            onclick: () => mark(page, `/${one.id}`),
          },
          verb,
        )
      : null;
  const head = el(
    "p",
    { class: "nm-title" },
    one.read_at
      ? null
      : el("span", { class: "nm-dot", role: "img", "aria-label": host.text("unread", "не прочитано") }),
    el("span", {}, one.title),
  );
  return el(
    "li",
    { class: one.read_at ? "" : "unread" },
    el("div", {}, head, text, read),
    el("div", { class: "nm-side" }, el("time", { class: "small dim", datetime: one.at }, host.formatTime(one.at)), act),
  );
}

async function mark(page, which) {
  await act(page, page.told, () => page.host.post(`plugins/notify/inbox${which}/read`));
}

async function more(page) {
  await act(page, page.told, async () => {
    const found = await page.host.get(`plugins/notify/inbox?limit=${LIMIT}&before=${page.oldest}`);
    const known = new Set(page.entries.map((one) => one.id));
    page.entries.push(...found.entries.filter((one) => !known.has(one.id)));
  });
}

/** Does something and shows what has become of it, or why it was refused. */
async function act(page, place, work) {
  try {
    await work();
  } catch (error) {
    place.replaceChildren(note("failed", "error", why(error), true));
    return false;
  }
  await page.reload();
  return true;
}

/* -- channels -------------------------------------------------------------------------------------- */

function channelCard(page, channels) {
  const { host } = page;
  const isAdmin = page.me.role === "admin";
  const heads = [
    host.text("channel", "канал"),
    host.text("state", "состояние"),
    host.text("last sent", "последняя отправка"),
    host.text("otherwise", "иначе"),
    host.text("rules", "правила"),
    ...(isAdmin ? [host.text("actions", "действия")] : []),
  ];
  return card(
    host.text("Channels", "Каналы"),
    {},
    table(
      heads,
      channels.map((one) => channelRow(page, one, isAdmin, heads)),
    ),
  );
}

function channelRow(page, one, isAdmin, heads) {
  const { host } = page;
  const name = one.state === "enabled" && one.failures > 0 ? "failing" : one.state;
  const told = one.message ?? one.last_error;
  const state = el(
    "div",
    {},
    stateTag(host, CHANNEL, name),
    name === "failing" &&
      el("p", { class: "small dim" }, host.text(`failed tries: ${one.failures}`, `неудачных попыток: ${one.failures}`)),
    name !== "enabled" && told && el("p", { class: "small soft break" }, told),
  );
  const acts = el(
    "div",
    { class: "nm-acts" },
    one.name !== "inbox" &&
      button(host.text("Test", "Проверить"), (event) => test(page, one.name, event.currentTarget)),
    one.state === "disabled" &&
      button(host.text("Enable", "Включить"), () =>
        act(page, page.tested, () => page.host.post(`plugins/notify/channels/${encodeURIComponent(one.name)}/enable`)),
      ),
  );
  const target = one.target && one.target !== one.name ? one.target : "";
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row", class: "nm-name" },
      el("b", {}, one.name),
      el(
        "span",
        { class: "small dim break" },
        [one.kind === one.name ? "" : one.kind, target].filter(Boolean).join(" · "),
      ),
    ),
    el("td", {}, state),
    cell(heads[2], one.last_sent_at ? host.formatTime(one.last_sent_at) : "–"),
    cell(heads[3], one.fallback ?? "–"),
    cell(heads[4], one.rules.join(", ") || "–"),
    isAdmin && el("td", {}, acts),
  );
}

const cell = (head, text) => el("td", { "data-th": head }, el("span", { class: "break" }, text));

async function test(page, name, pressed) {
  const { host } = page;
  if (page.busy.has(name)) return;
  page.busy.add(name);
  pressed.classList.add("off");
  page.tested.replaceChildren(note("", "info", host.text(`Testing ${name} …`, `Проверяется ${name} …`)));
  const sent = await act(page, page.tested, () =>
    host.post(`plugins/notify/channels/${encodeURIComponent(name)}/test`),
  );
  if (sent)
    page.tested.replaceChildren(
      note("ok", "ok", host.text(`A test message left on ${name}.`, `Пробное сообщение ушло по каналу ${name}.`)),
    );
  else await page.reload();
  page.busy.delete(name);
  pressed.classList.remove("off");
}

/* -- deliveries and rules -------------------------------------------------------------------------- */

function deliveryCard(page, deliveries) {
  const { host } = page;
  const heads = [
    host.text("when", "когда"),
    host.text("message", "сообщение"),
    host.text("rule → channel", "правило → канал"),
    host.text("state", "состояние"),
    host.text("job", "задание"),
  ];
  const options = [
    ["", host.text("all", "все")],
    ...["failed", "replaced", "sent"].map((name) => [name, host.text(DELIVERY[name].en, DELIVERY[name].ru)]),
  ];
  const seg = choice(host.text("Which deliveries", "Какие доставки"), options, page.wanted, (next) => {
    page.wanted = next;
    page.reload();
  });
  const rows = deliveries.map((one) => deliveryRow(host, one, heads));
  const list =
    rows.length > 0
      ? table(heads, rows)
      : empty(
          host.text("No deliveries", "Доставок нет"),
          page.wanted
            ? ""
            : host.text("Nothing has happened that a rule tells.", "Не случилось ничего, о чём сообщает правило."),
        );
  return card(host.text("Recent deliveries", "Последние доставки"), { end: seg }, list);
}

function deliveryRow(host, one, heads) {
  const title = one.title ?? host.text("events are being collected", "события собираются");
  const tries =
    one.tries > 1 && el("p", { class: "small dim" }, host.text(`${one.tries} tries`, `попыток: ${one.tries}`));
  const twice =
    one.perhaps_twice && el("p", { class: "small dim" }, host.text("perhaps told twice", "возможно, передано дважды"));
  const job = one.job_id ? link(host, `/jobs/${one.job_id}`, { class: "mono" }, one.job_id.slice(-8)) : "–";
  return el(
    "tr",
    {},
    el("td", { class: "nowrap" }, host.formatTime(one.sent_at ?? one.created_at)),
    el(
      "td",
      { class: "break" },
      el("b", { class: "nm-plain" }, title),
      one.error && el("p", { class: "small failed fg" }, one.error),
    ),
    cell(heads[2], `${one.rule} → ${one.channel}`),
    el("td", {}, stateTag(host, DELIVERY, one.state), tries, twice),
    el("td", { "data-th": heads[4] }, el("span", {}, job)),
  );
}

function ruleCard(page, rules) {
  const { host } = page;
  const heads = [
    host.text("rule", "правило"),
    host.text("tells of", "сообщает о"),
    host.text("channels", "каналы"),
    host.text("when", "когда"),
  ];
  return card(
    host.text("Rules", "Правила"),
    {},
    rules.length > 0
      ? table(
          heads,
          rules.map((one) => ruleRow(host, one, heads)),
        )
      : empty(host.text("No rules", "Правил нет")),
  );
}

function ruleRow(host, one, heads) {
  const about = [
    one.kinds.join(", "),
    one.where,
    one.subjects.join(", "),
    one.task && host.text(`task ${one.task}`, `задача ${one.task}`),
  ]
    .filter(Boolean)
    .join(" · ");
  const span = (seconds) => host.formatAge(seconds);
  const when = [
    one.group > 0 && host.text(`collects for ${span(one.group)}`, `собирает ${span(one.group)}`),
    one.remind && host.text(`reminds every ${span(one.remind)}`, `напоминает каждые ${span(one.remind)}`),
    one.times > 1 && host.text(`from the ${one.times}th time`, `с ${one.times}-го раза`),
    one.since && host.text(`after ${span(one.since)} without a run`, `через ${span(one.since)} без запуска`),
    one.quiet && host.text(`quiet ${one.quiet}`, `тишина ${one.quiet}`),
    one.resolved && host.text("says when it is over", "сообщает и об окончании"),
  ]
    .filter(Boolean)
    .join(", ");
  return el(
    "tr",
    {},
    el("th", { scope: "row", class: "nm-name" }, el("b", {}, one.name)),
    cell(heads[1], about),
    cell(heads[2], one.channels.join(", ")),
    cell(heads[3], when || "–"),
  );
}

function table(heads, rows) {
  return el(
    "table",
    { class: "t cards stack nm-table" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        heads.map((head) => el("th", { scope: "col" }, head)),
      ),
    ),
    el("tbody", {}, rows),
  );
}

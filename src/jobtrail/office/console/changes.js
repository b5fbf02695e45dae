/* What people change of a module: pause, resume, limits, remove. Each is a dialog. */
import { ask, el, field } from "../notify/parts.js";

const path = (module, rest = "") => `modules/${encodeURIComponent(module.module)}${rest}`;

const PAUSES = [
  ["15", 15],
  ["60", 60],
  ["240", 240],
  ["1440", 1440],
  ["", null],
];

export function pause(host, module, after) {
  const until = el(
    "select",
    { class: "input", name: "minutes" },
    PAUSES.map(([value, minutes]) =>
      el(
        "option",
        { value, selected: value === "60" },
        minutes
          ? host.formatAge(minutes * 60)
          : host.text("until somebody resumes it", "пока кто-нибудь не возобновит"),
      ),
    ),
  );
  return ask(host, {
    title: host.text(`Pause ${module.module}?`, `Приостановить ${module.module}?`),
    text: host.text(
      "Beats are still recorded. Its status does not change, and nobody is told of its silence.",
      "Сигналы записываются и дальше. Состояние не меняется, о тишине никому не сообщается.",
    ),
    fields: [
      field(host.text("For how long", "На сколько"), until),
      field(
        host.text("Reason", "Причина"),
        el("input", {
          class: "input",
          name: "reason",
          maxlength: 500,
          placeholder: host.text("maintenance", "обслуживание"),
        }),
      ),
    ],
    verb: host.text("Pause", "Приостановить"),
    run: (form) =>
      host.post(path(module, "/pause"), {
        ...(form.get("minutes") ? { minutes: Number(form.get("minutes")) } : {}),
        ...(form.get("reason").trim() ? { reason: form.get("reason").trim() } : {}),
      }),
    after,
  });
}

export function resume(host, module, after) {
  return ask(host, {
    title: host.text(`Resume ${module.module}?`, `Возобновить ${module.module}?`),
    text: host.text("Its silence counts from now.", "Тишина считается с этого момента."),
    verb: host.text("Resume", "Возобновить"),
    run: () => host.post(path(module, "/resume")),
    after,
  });
}

export function limits(host, module, after) {
  const input = (name, value, more) => el("input", { class: "input", name, value, ...more });
  const seconds = { type: "number", min: 1, max: 31_622_400, step: "any", required: true };
  const own = el("input", { class: "check", type: "checkbox", name: "settings" });
  const fields = [
    field(
      host.text("Warning after, in seconds", "Предупреждение через, в секундах"),
      input("warn_after", module.warn_after, seconds),
    ),
    field(
      host.text("Error after, in seconds", "Ошибка через, в секундах"),
      input("error_after", module.error_after, seconds),
    ),
    field(
      host.text("Beats in a row that bring it back to ok", "Сигналов подряд, чтобы вернуться в порядок"),
      input("recovery_beats", module.recovery_beats, { type: "number", min: 1, max: 1000, required: true }),
    ),
    field(
      host.text("Quiet hours", "Часы тишины"),
      input("quiet_hours", module.quiet_hours, { maxlength: 2000, placeholder: "mon-fri 22:00-06:00 Europe/Berlin" }),
    ),
  ];
  const group = el(
    "fieldset",
    { class: "om-fields" },
    el("legend", { class: "vh" }, host.text("Limits", "Пределы")),
    fields,
  );
  own.addEventListener("change", () => {
    group.disabled = own.checked;
  });
  const back = module.own_limits
    ? [
        el(
          "label",
          { class: "om-check" },
          own,
          el("span", {}, host.text("use the limits of the settings again", "снова взять пределы из настроек")),
        ),
      ]
    : [];
  return ask(host, {
    title: host.text(`Limits of ${module.module}`, `Пределы ${module.module}`),
    text: host.text("Its status is judged anew at once.", "Состояние сразу определяется заново."),
    fields: [group, ...back],
    verb: host.text("Change the limits", "Изменить пределы"),
    run: (form) =>
      host.post(
        path(module, "/limits"),
        own.checked
          ? {}
          : {
              warn_after: Number(form.get("warn_after")),
              error_after: Number(form.get("error_after")),
              recovery_beats: Number(form.get("recovery_beats")),
              quiet_hours: form.get("quiet_hours"),
            },
      ),
    after,
  });
}

export function remove(host, module, after) {
  return ask(host, {
    title: host.text(`Remove ${module.module}?`, `Удалить ${module.module}?`),
    text: host.text(
      "Nobody watches it any more. If it reports again, it is registered again as a new module.",
      "За модулем больше не следят. Если он снова подаст сигнал, он будет зарегистрирован как новый.",
    ),
    verb: host.text("Remove", "Удалить"),
    danger: true,
    run: () => host.del(path(module)),
    after,
  });
}

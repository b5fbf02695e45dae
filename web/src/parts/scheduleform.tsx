/* Adding or changing a schedule: the rule is told in words, with its next times, before it is kept. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { inPath, post, send } from "../api/client";
import { useFresh, useLook } from "../api/queries";
import type { RuleShape, ScheduleShape, TaskList } from "../api/types";
import { useSpeech } from "../i18n";
import { parseTyped, stringify } from "../lib/exact";
import { Note } from "./basic";
import { ActionDialog } from "./dialog";

interface Fields {
  name: string;
  task: string;
  rule: string;
  tz: string;
  source: string;
  period: string;
  args: string;
  overlap: string;
  catch_up: string;
}

function fieldsOf(one: ScheduleShape | undefined): Fields {
  const known = (one?.definition ?? {}) as Record<string, unknown>;
  const text = (key: string) => (typeof known[key] === "string" ? (known[key] as string) : "");
  return {
    name: one?.name ?? "",
    task: one?.task ?? "",
    rule: ruleText(known.rule),
    tz: one?.zone ?? "",
    source: text("source"),
    period: text("period"),
    args: known.args ? stringify(known.args) : "{}",
    overlap: text("overlap"),
    catch_up: text("catch_up"),
  };
}

function ruleText(rule: unknown): string {
  if (typeof rule === "string") return rule;
  const found = (rule ?? {}) as Record<string, unknown>;
  if (typeof found.cron === "string") return found.cron;
  if (typeof found.text === "string") return found.text;
  return "";
}

function useSlow(text: string): string {
  const [slow, setSlow] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => setSlow(text), 300);
    return () => window.clearTimeout(timer);
  }, [text]);
  return slow;
}

export function ScheduleDialog({ one, onClose }: { one?: ScheduleShape; onClose: () => void }) {
  const { t } = useSpeech();
  const fresh = useFresh();
  const navigate = useNavigate();
  const [first] = useState(() => fieldsOf(one));
  const [fields, setFields] = useState(first);
  const tasks = useLook<TaskList>("tasks", {}, { on: !one, every: 60_000 });
  const rule = useSlow(fields.rule.trim());
  const tz = useSlow(fields.tz.trim());
  const preview = useQuery({
    queryKey: ["schedules/preview", rule, tz],
    queryFn: () => post<RuleShape>("schedules/preview", { rule, tz: tz || null }),
    enabled: rule !== "",
    retry: false,
  });
  const bad = badJson(fields.args);
  const field = (name: keyof Fields, hint = "", mono = false) => (
    <label className="line-field">
      <span>{t(`schedule.field.${name}`)}</span>
      <input
        className={`input ${mono ? "mono" : ""}`}
        value={fields[name]}
        placeholder={hint}
        maxLength={500}
        onChange={(event) => setFields({ ...fields, [name]: event.target.value })}
      />
    </label>
  );
  const ready =
    (fields.rule.trim() !== "" || (one !== undefined && first.rule === "")) &&
    !bad &&
    (one !== undefined || (fields.name.trim() !== "" && fields.task !== ""));
  return (
    <ActionDialog
      title={`${t(one ? "schedule.edit" : "schedules.add").replace("…", "")} ${one?.name ?? ""}`}
      says={t(one ? "schedule.edit.words" : "schedules.add.words")}
      verb={t(one ? "schedule.keep" : "schedules.add.verb")}
      off={!ready}
      run={(act) =>
        one
          ? send("PATCH", `schedules/${inPath(one.name)}`, { ...changes(first, fields), reason: act.reason || null })
          : post("schedules", { ...whole(fields), reason: act.reason || null }, act.key)
      }
      onDone={() => {
        void fresh();
        if (!one) void navigate({ to: "/schedules/$name", params: { name: fields.name.trim() } });
      }}
      onClose={onClose}
    >
      {!one && field("name", "nightly")}
      {!one && (
        <label className="line-field">
          <span>{t("col.task")}</span>
          <select
            className="input"
            value={fields.task}
            onChange={(event) => setFields({ ...fields, task: event.target.value })}
          >
            <option value="" />
            {tasks.data?.tasks
              .filter((task) => task.known)
              .map((task) => (
                <option key={task.name}>{task.name}</option>
              ))}
          </select>
        </label>
      )}
      {field("rule", "0 3 * * *", true)}
      {field("tz", "Europe/Moscow")}
      <Means found={preview.data} problem={preview.error} />
      {field("source", "weather/EWR")}
      {field("period", "previous day")}
      {field("args", '{"airport": "EWR"}', true)}
      {bad && <span className="failed fg small">{t("schedule.badjson")}</span>}
    </ActionDialog>
  );
}

function Means({ found, problem }: { found: RuleShape | undefined; problem: unknown }) {
  const { t, lang } = useSpeech();
  if (problem instanceof Error)
    return (
      <Note tone="failed" icon="failed">
        {problem.message}
      </Note>
    );
  if (!found) return <Note>{t("schedule.means.none")}</Note>;
  const times = found.following.slice(0, 3).map((at) => at.local.slice(0, 16).replace("T", " "));
  return (
    <Note tone="completed" icon="check">
      <b>{found.words[lang] ?? found.words.en}</b>
      <br />
      {t("schedule.means.next", { times: times.join(", ") })}
    </Note>
  );
}

function badJson(text: string): boolean {
  try {
    const found = parseTyped(text || "{}");
    return typeof found !== "object" || found === null || Array.isArray(found);
  } catch {
    return true;
  }
}

function whole(fields: Fields): Record<string, unknown> {
  const found: Record<string, unknown> = { name: fields.name.trim(), task: fields.task, rule: fields.rule.trim() };
  for (const key of ["tz", "source", "period"] as const) if (fields[key].trim()) found[key] = fields[key].trim();
  const args = parseTyped(fields.args || "{}") as Record<string, unknown>;
  if (Object.keys(args).length > 0) found.args = args;
  return found;
}

/** Only what was changed is sent, so that the rest stays as it is declared. */
function changes(before: Fields, now: Fields): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const key of ["rule", "tz", "source", "period"] as const)
    if (before[key] !== now[key]) found[key] = now[key].trim() || null;
  if (before.args !== now.args) found.args = parseTyped(now.args || "{}");
  return found;
}

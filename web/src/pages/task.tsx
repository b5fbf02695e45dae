/* Start a job of a task: its arguments as a form, and what it works on. */
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import { inPath, keyAfter, newKey, post } from "../api/client";
import { useLook, useMay } from "../api/queries";
import type { Stored, TaskShape } from "../api/types";
import { useSpeech } from "../i18n";
import { begin, withNulls } from "../lib/check";
import { Card, Choice, Head, Note, Rows, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { FileField, type Given } from "../parts/filefield";
import { later } from "../parts/later";
import { ProblemNote } from "../parts/problem";
import { TaskHistory } from "../parts/taskhistory";

const SchemaForm = later(async () => (await import("../parts/form")).default);

export function Task() {
  const { name } = useParams({ from: "/tasks/$name" });
  const { t } = useSpeech();
  const query = useLook<TaskShape>(`tasks/${inPath(name)}`, {}, { keep: false, every: 60_000 });
  usePlace({ text: t("nav.tasks"), to: "/tasks" }, { text: name });
  if (query.error && !query.data) return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <Waiting />;
  return (
    <>
      <Head title={t("task.title", { name })} sub={query.data.text ?? query.data.description ?? " "} />
      <TaskHistory task={query.data} />
      <div className="grid g-2-1">
        {query.data.known && query.data.arguments ? <StartForm task={query.data} /> : <Note>{t("tasks.unknown")}</Note>}
        <Options task={query.data} />
      </div>
    </>
  );
}

type On = "nothing" | "period" | "file";

function StartForm({ task }: { task: TaskShape }) {
  const { t } = useSpeech();
  const navigate = useNavigate();
  const asked = useSearch({ from: "/tasks/$name" });
  const may = useMay("operator");
  const [args, setArgs] = useState<unknown>(() => begin(task.arguments) ?? {});
  const [on, setOn] = useState<On>(asked.period || asked.source ? "period" : task.kind === "file" ? "file" : "nothing");
  const [source, setSource] = useState(asked.source ?? "");
  const [period, setPeriod] = useState(asked.period ?? "");
  const [file, setFile] = useState<Given | null>(null);
  const [later, setLater] = useState("");
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const [there, setThere] = useState<Stored | null>(null);
  const key = useRef(newKey());
  const busy = useRef(false);
  const go = async (given: unknown) => {
    if (busy.current) return;
    busy.current = true;
    setProblem(null);
    try {
      const stored = await post<Stored>(
        "jobs",
        {
          task: task.name,
          args: withNulls(task.arguments, given),
          source: on === "nothing" ? null : source.trim() || null,
          period: on === "period" ? period.trim() || null : null,
          file: on === "file" ? file : null,
          run_at: later ? new Date(`${later}:00Z`).toISOString() : null,
          reason: reason.trim() || null,
        },
        key.current,
      );
      if (stored.created) void navigate({ to: "/jobs/$id", params: { id: stored.job.id } });
      else setThere(stored);
    } catch (error) {
      setProblem(error);
      key.current = keyAfter(key.current, error);
    } finally {
      busy.current = false;
    }
  };
  return (
    <Card title={t("task.start", { name: task.name })}>
      <div className="card-body">
        <SchemaForm
          id="start"
          schema={task.arguments}
          value={args}
          onChange={setArgs}
          onSubmit={(given) => void go(given)}
        >
          <div className="line-field">
            <span>{t("task.on")}</span>
            <Choice
              label={t("task.on")}
              value={on}
              options={[
                ["nothing", t("task.on.nothing")],
                ["period", t("task.on.period")],
                ["file", t("task.on.file")],
              ]}
              onChange={setOn}
            />
          </div>
          {on !== "nothing" && <Text label={t("col.source")} value={source} onChange={setSource} hint="weather/EWR" />}
          {on === "period" && (
            <Text label={t("facts.period")} value={period} onChange={setPeriod} hint="2013-02, 2013-02-12, 2013-W07" />
          )}
          {on === "file" && <FileField onChange={setFile} />}
          <label className="line-field">
            <span>{t("task.later")}</span>
            <input
              className="input"
              type="datetime-local"
              value={later}
              onChange={(event) => setLater(event.target.value)}
            />
          </label>
          <Text label={t("reason")} value={reason} onChange={setReason} hint={t("reason.hint")} />
          {problem !== null && <ProblemNote problem={problem} />}
          {there && (
            <Note tone="running" icon="info">
              {t("task.there")}{" "}
              <button
                type="button"
                className="link"
                onClick={() => void navigate({ to: "/jobs/$id", params: { id: there.job.id } })}
              >
                {t("task.there.open")}
              </button>
            </Note>
          )}
          <div className="dialog-foot">
            <button
              type="submit"
              className={`btn primary ${may && !(on === "file" && file === null) ? "" : "off"}`}
              disabled={!may || (on === "file" && file === null)}
            >
              {t("task.go")}
            </button>
            {!may && <span className="small dim">{t("may.operator")}</span>}
          </div>
        </SchemaForm>
      </div>
    </Card>
  );
}

function Text({
  label,
  value,
  onChange,
  hint,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  hint: string;
}) {
  return (
    <label className="line-field">
      <span>{label}</span>
      <input
        className="input"
        value={value}
        maxLength={500}
        placeholder={hint}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

function Options({ task }: { task: TaskShape }) {
  const { t, span, tWord } = useSpeech();
  const rows: [ReactNode, ReactNode][] = [];
  const add = (name: ReactNode, value: ReactNode) =>
    value !== null && value !== undefined && value !== "" && rows.push([name, value]);
  add(t("task.kind"), task.kind);
  add(t("task.queue"), task.queue);
  add(t("task.attempts"), task.known ? (task.attempts ?? "∞") : null);
  add(t("task.timeout"), task.timeout === null ? null : span(task.timeout));
  add(t("task.stall"), task.stall_timeout === null ? null : span(task.stall_timeout));
  add(t("task.maxfailed"), task.max_failed_items);
  add(t("task.interrupt"), task.on_interrupt && tWord("interrupt", task.on_interrupt));
  add(t("task.shutdown"), task.on_shutdown && tWord("interrupt", task.on_shutdown));
  add(t("task.executor"), task.executor && tWord("executor", task.executor));
  add(t("task.zone"), task.zone);
  add(t("task.aliases"), task.aliases.join(", "));
  return (
    <Card title={t("task.options")}>
      <div className="card-body">
        <Rows rows={rows} />
      </div>
    </Card>
  );
}

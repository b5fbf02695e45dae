/* What can be done with a job, said in words before it is done; what cannot be done stays, with its reason. */
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "../api/client";
import { useFresh } from "../api/queries";
import type { Action, JobWhole, Stored } from "../api/types";
import { useSpeech } from "../i18n";
import { tail } from "../lib/format";
import { capital } from "../lib/words";
import { Button, Card } from "./basic";
import { type Act, ActionDialog } from "./dialog";
import { later } from "./later";
import type { Shape } from "./shapes";

const ChangedDialog = later(async () => (await import("./changed")).default);
const FileDialog = later(async () => (await import("./corrected")).default);

const ICONS: Record<string, Shape> = {
  retry: "rerun",
  rerun_failed_items: "rerun",
  rerun_resume: "right",
  rerun_full: "running",
  rerun_changed: "tasks",
  rerun_file: "down",
  run_now: "arrow",
  answer: "awaiting_input",
  cancel: "cancelled",
  force: "warning",
};
const DANGER = new Set(["cancel", "force"]);
// Not force: it would take the place, and the key, of what was pressed to cancel.
const MAIN = ["answer", "rerun_failed_items", "retry"];
const SHOWN_WHEN_OFF = new Set(["cancel", "retry"]);

/** The job that tells the truth of this unit now, where that is another one. */
export function newer(job: JobWhole): string | null {
  const found = job.unit_of?.active ?? job.unit_of?.job ?? null;
  return found === job.id ? null : found;
}

/** The word by which an action is told: to re-run no failed item is to run what was never reached. */
export const wordOf = (one: Action) => (one.name === "rerun_failed_items" && !one.count ? "rerun_unreached" : one.name);

/** The one thing that is most likely wanted; none where all is well. */
export function mainAction(job: JobWhole): Action | null {
  const allowed = job.actions.filter((one) => one.allowed);
  if (job.status === "completed" || job.status === "cancelled" || newer(job)) return null;
  for (const name of MAIN) {
    const found = allowed.find((one) => one.name === name && !(name === "rerun_failed_items" && !one.count));
    if (found) return found;
  }
  return null;
}

export function Actions({
  job,
  onAct,
  icon,
}: {
  job: JobWhole;
  onAct: (name: string) => void;
  icon: (name: string) => Shape;
}) {
  const { t } = useSpeech();
  const main = mainAction(job);
  const able = job.actions.filter((one) => one.allowed).sort((a, b) => Number(b === main) - Number(a === main));
  const off = job.actions.filter((one) => !one.allowed);
  const near = off.filter((one) => SHOWN_WHEN_OFF.has(one.name));
  const rest = off.filter((one) => !SHOWN_WHEN_OFF.has(one.name));
  return (
    <Card title={t("actions.title")} className="o2">
      <ul className="acts-list">
        {[...able, ...near].map((one) => (
          <One key={one.name} one={one} onAct={onAct} icon={icon} />
        ))}
      </ul>
      {rest.length > 0 && (
        <details className="acts-more">
          <summary>{t("actions.more", { n: rest.length })}</summary>
          <ul className="acts-list">
            {rest.map((one) => (
              <One key={one.name} one={one} onAct={onAct} icon={icon} />
            ))}
          </ul>
        </details>
      )}
    </Card>
  );
}

function One({ one, onAct, icon }: { one: Action; onAct: (name: string) => void; icon: (name: string) => Shape }) {
  const { tWord } = useSpeech();
  const look = `wide ${DANGER.has(one.name) ? "danger" : ""}`;
  return (
    <li>
      <Button
        className={look}
        icon={icon(one.name)}
        off={!one.allowed}
        onClick={() => onAct(one.name)}
        aria-describedby={`why-${one.name}`}
      >
        {tWord("act", wordOf(one), { n: one.count ?? 0 })}
      </Button>
      <p id={`why-${one.name}`}>{one.allowed ? sentence(one) : <WhyNot one={one} />}</p>
    </li>
  );
}

/** What an action does, as the server says it, as a sentence. */
const sentence = (one: Action) => `${capital(one.words)}.`;

function WhyNot({ one }: { one: Action }) {
  const { t } = useSpeech();
  return (
    <>
      {t("whynot.head")} {one.why_not}.
      {one.job && (
        <>
          {" "}
          <Link to="/jobs/$id" params={{ id: one.job }}>
            {t("problem.job", { id: tail(one.job) })}
          </Link>
        </>
      )}
    </>
  );
}

/** How each action is carried out, and where it leads. */
export function useAct(job: JobWhole) {
  const { t, tWord } = useSpeech();
  const navigate = useNavigate();
  const fresh = useFresh();
  const [open, setOpen] = useState<string | null>(null);
  const [told, setTold] = useState(false);
  const close = () => setOpen(null);
  const done = (result: unknown) => {
    const stored = result as Stored;
    if (stored.job.id !== job.id) void navigate({ to: "/jobs/$id", params: { id: stored.job.id } });
    void fresh();
  };
  const run = (name: string) => (act: Act) => {
    const reason = act.reason || null;
    const path = `jobs/${job.id}`;
    if (name === "retry") return post<Stored>(`${path}/retry`, { reason }, act.key);
    if (name === "run_now") return post<Stored>(`${path}/run-now`, { reason }, act.key);
    if (name === "cancel") return post<Stored>(`${path}/cancel`, { reason }, act.key);
    if (name === "force") return post<Stored>(`${path}/cancel`, { reason, force: true }, act.key);
    const mode = name.replace("rerun_", "");
    return post<Stored>(`${path}/rerun`, { reason, mode, with_successors: told }, act.key);
  };
  const one = job.actions.find((action) => action.name === open);
  let dialog = null;
  if (one?.name === "rerun_changed")
    dialog = <ChangedDialog job={job} says={sentence(one)} onClose={close} onDone={done} />;
  else if (one?.name === "rerun_file")
    dialog = <FileDialog job={job} says={sentence(one)} onClose={close} onDone={done} />;
  else if (one)
    dialog = (
      <ActionDialog
        title={tWord("act", wordOf(one), { n: one.count ?? 0 }).replace("…", "")}
        says={sentence(one)}
        verb={tWord("verb", wordOf(one), { n: one.count ?? 0 })}
        danger={DANGER.has(one.name)}
        run={run(one.name)}
        onDone={done}
        onClose={close}
      >
        {one.name.startsWith("rerun_") && job.successors.length > 0 && (
          <label className="opt">
            <input
              className="check"
              type="checkbox"
              checked={told}
              onChange={(event) => setTold(event.target.checked)}
            />
            <span>{t("actions.successors", { n: job.successors.length })}</span>
          </label>
        )}
      </ActionDialog>
    );
  return { open: setOpen, icon: (name: string): Shape => ICONS[name] ?? "arrow", dialog };
}

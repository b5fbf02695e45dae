/* Something that waits for a person: what, why in one sentence, and one button. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Need } from "../api/types";
import { useSpeech } from "../i18n";
import { Icon } from "./basic";
import { Deadline } from "./deadline";
import type { Shape } from "./shapes";

const MARKS: Record<Need["kind"] | "mapping", [string, Shape]> = {
  mapping: ["awaiting_mapping", "awaiting_mapping"],
  question: ["awaiting_input", "awaiting_input"],
  failed: ["failed", "failed"],
  partial: ["partial", "partial"],
  interrupted: ["interrupted", "interrupted"],
  missed: ["interrupted", "schedules"],
  schedule: ["failed", "schedules"],
  worker: ["interrupted", "workers"],
  paused: ["cancelled", "paused"],
  no_worker: ["failed", "workers"],
};

export function NeedLine({ need, first }: { need: Need; first: boolean }) {
  const { t, count, moment, error } = useSpeech();
  const [tone, shape] = MARKS[need.asks === "mapping" ? "mapping" : need.kind];
  const what = [need.source, need.period].filter(Boolean).join(" ");
  const values = {
    n: need.count,
    count: count(need.count, !need.more),
    task: need.task,
    name: [need.task, what].filter(Boolean).join(" "),
    schedule: need.schedule,
    queue: need.queue,
    items: need.items_failed,
    text: need.text,
  };
  const alone = need.count === 1 && !need.more;
  const say =
    need.kind === "question"
      ? (need.text ?? "")
      : t(
          alone && ["failed", "partial", "interrupted"].includes(need.kind)
            ? (`need.${need.kind}.one` as "need.failed.one")
            : (`need.${need.kind}` as "need.failed"),
          values,
        );
  let why: ReactNode = need.text ? error(need.text) : null;
  if (need.kind === "question")
    why = (
      <>
        {[need.task, what].filter(Boolean).join(" · ")} ·{" "}
        <Deadline at={need.deadline} fallback={need.has_default ?? false} />
      </>
    );
  else if (need.kind === "partial" && need.items_failed)
    why = [t("need.items", { n: need.items_failed }), need.text].filter(Boolean).join(" ");
  else if (need.kind === "missed" && need.text) why = need.text;
  return (
    <li>
      <span className={`mark ${tone}`}>
        <Icon of={shape} />
      </span>
      <p className="say">{say}</p>
      <p className="why">
        {why || " "} <span className="dim">{need.kind === "question" ? "" : moment(need.at)}</span>
      </p>
      <Go need={need} alone={alone} first={first} />
    </li>
  );
}

function Go({ need, alone, first }: { need: Need; alone: boolean; first: boolean }) {
  const { t, count } = useSpeech();
  const look = `btn ${first ? "primary" : ""}`;
  if (need.question)
    return (
      <Link className={look} to="/questions/$id" params={{ id: need.question }}>
        {t("question.answer")}
      </Link>
    );
  if (need.job && alone)
    return (
      <Link className={look} to="/jobs/$id" params={{ id: need.job }}>
        {t("need.open")}
      </Link>
    );
  if (need.filter)
    return (
      <Link className={look} to="/jobs" search={{ q: need.filter }}>
        {t("need.review", { count: count(need.count, !need.more), n: need.count })}
      </Link>
    );
  if (need.schedule)
    return (
      <Link className={look} to="/schedules/$name" params={{ name: need.schedule }}>
        {t("need.schedule.open")}
      </Link>
    );
  return (
    <Link className={look} to="/workers">
      {t("need.workers.open")}
    </Link>
  );
}

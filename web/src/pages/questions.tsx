/* Questions: what is asked, the nearest deadline first. */
import { Link } from "@tanstack/react-router";
import { useTopic } from "../api/live";
import { useLook } from "../api/queries";
import type { Inbox } from "../api/types";
import { useSpeech } from "../i18n";
import { Card, Empty, Head, Icon, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { Deadline } from "../parts/deadline";
import { ProblemNote } from "../parts/problem";

export function Questions() {
  const { t, moment } = useSpeech();
  usePlace({ text: t("nav.questions") });
  useTopic("questions", {});
  const query = useLook<Inbox>("questions");
  const found = query.data?.questions ?? [];
  return (
    <>
      <Head
        title={t("questions.title")}
        sub={query.data ? t(query.data.count ? "questions.sub" : "questions.sub.none", { n: query.data.count }) : " "}
      />
      {query.error && <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />}
      <Card title={t("questions.open")} sub={t("needs.order")}>
        {query.isPending && <Waiting />}
        {query.data && found.length === 0 && <Empty title={t("questions.none")}>{t("questions.none.how")}</Empty>}
        <ol className="needs">
          {found.map((one, index) => (
            <li key={one.id}>
              <span className={`mark ${one.kind === "mapping" ? "awaiting_mapping" : "awaiting_input"}`}>
                <Icon of={one.kind === "mapping" ? "awaiting_mapping" : "awaiting_input"} />
              </span>
              <p className="say">{one.text}</p>
              <p className="why">
                {one.task} {one.source ? `· ${one.source} ` : ""}
                {one.file ? (
                  <>
                    · <code>{one.file}</code>{" "}
                  </>
                ) : one.period ? (
                  `· ${one.period} `
                ) : (
                  ""
                )}
                {one.proposed !== null && `· ${t("questions.proposed", { n: one.proposed, all: one.fields })} `}·{" "}
                <Deadline at={one.expires_at} fallback={one.has_default} /> ·{" "}
                {t("questions.asked", { at: moment(one.asked_at) })}
              </p>
              <Link className={`btn ${index === 0 ? "primary" : ""}`} to="/questions/$id" params={{ id: one.id }}>
                {t("question.answer")}
              </Link>
            </li>
          ))}
        </ol>
      </Card>
    </>
  );
}

/* What a waiting job asks, on its own page: the form right there, or the way to the mapping. */
import { Link } from "@tanstack/react-router";
import { useLook } from "../api/queries";
import type { JobWhole, Question } from "../api/types";
import { useSpeech } from "../i18n";
import { Card, Note, Waiting } from "./basic";
import { Deadline } from "./deadline";
import { later } from "./later";

const AnswerForm = later(async () => (await import("./answerform")).default);

export function AnswerCard({ job }: { job: JobWhole }) {
  const { t } = useSpeech();
  const open = job.questions.find((question) => question.state === "open");
  const query = useLook<Question>(`questions/${open?.id}`, {}, { on: Boolean(open), keep: false, every: 30_000 });
  if (!open) return null;
  return (
    <Card title={open.text} sub={<Deadline at={open.expires_at} fallback={open.has_default} />}>
      {open.kind === "mapping" ? (
        <div className="card-body">
          <Note tone="awaiting_mapping" icon="awaiting_mapping">
            {t("question.mapping")}
          </Note>
          <p className="after-note">
            <Link className="btn" to="/questions/$id" params={{ id: open.id }}>
              {t("question.answer")}
            </Link>
          </p>
        </div>
      ) : query.data ? (
        <AnswerForm question={query.data} />
      ) : (
        <Waiting />
      )}
    </Card>
  );
}

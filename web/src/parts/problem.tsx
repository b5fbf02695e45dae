/* What went wrong, where it went wrong: what happened, and what can be done. */
import { Link } from "@tanstack/react-router";
import { Problem } from "../api/client";
import { useSpeech } from "../i18n";
import { tail } from "../lib/format";
import { Button, Note } from "./basic";

export function ProblemNote({ problem, onRetry }: { problem: unknown; onRetry?: () => void }) {
  const { t } = useSpeech();
  const found = problem instanceof Problem ? problem : new Problem(0, "broken", String(problem));
  const head =
    found.status === 0 ? t("problem.unreachable") : found.status === 403 ? t("problem.role") : t("problem.refused");
  return (
    <div className="problem" role="alert">
      <Note tone="failed" icon="failed">
        <b>{head}</b> {found.detail}
        {found.job && (
          <>
            {" "}
            <Link to="/jobs/$id" params={{ id: found.job }}>
              {t("problem.job", { id: tail(found.job) })}
            </Link>
          </>
        )}
        {found.fields.length > 0 && (
          <span className="problem-fields">
            {found.fields.map((field) => (
              <span key={field.path + field.detail}>
                <code>{field.path}</code> {field.detail}
              </span>
            ))}
          </span>
        )}
      </Note>
      {onRetry && (
        <Button look="quiet" icon="rerun" onClick={onRetry}>
          {t("again")}
        </Button>
      )}
    </div>
  );
}

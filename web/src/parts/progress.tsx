/* How far a running job is: a bar, numbers, what it says of itself, its last sign of life and its deadline. */
import type { JobWhole } from "../api/types";
import { useSpeech } from "../i18n";
import { Bar, Card } from "./basic";
import { left, shareDone } from "./jobcells";

export function ProgressCard({ job, now }: { job: JobWhole; now: number }) {
  const { t, num, span, moment } = useSpeech();
  const share = shareDone(job);
  const rest = left(job, now);
  const progress = job.progress;
  const ago = progress?.last_heartbeat_at ? (now - Date.parse(progress.last_heartbeat_at)) / 1000 : null;
  return (
    <Card
      title={t("progress.title")}
      end={<span className="small soft">{rest === null ? "" : t("told.left", { span: span(rest) })}</span>}
    >
      <div className="card-body progress">
        <p className="line">
          <span>
            <b className="big">
              {progress?.done != null ? num(progress.done) : share === null ? "…" : `${num(share * 100)} %`}
            </b>
            {progress?.total ? <span className="dim"> / {num(progress.total)}</span> : null}
            {progress?.message ? <span className="soft"> {progress.message}</span> : null}
          </span>
          <span className="dim small">
            {ago !== null && t("progress.sign", { span: span(ago) })}
            {job.deadline_at && ` · ${t("progress.deadline", { at: moment(job.deadline_at, now) })}`}
          </span>
        </p>
        <Bar thick parts={share === null ? [] : [{ name: job.status, share }]} />
      </div>
    </Card>
  );
}

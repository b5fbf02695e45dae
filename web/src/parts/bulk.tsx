/* What is selected, and what can be done with it: in numbers before it is pressed, then one tracked job that can be stopped. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { post } from "../api/client";
import { useFresh, useMay } from "../api/queries";
import type { BulkPreview, JobLine, Started } from "../api/types";
import { useSpeech } from "../i18n";
import { tail } from "../lib/format";
import { Button, IconButton, Note, Waiting } from "./basic";
import { ActionDialog } from "./dialog";
import { ProblemNote } from "./problem";

type Name = "retry" | "rerun_failed" | "rerun_full" | "cancel" | "run_now" | "delete";

const WANTED: Record<Name, { action?: string; mode?: string }> = {
  retry: { action: "retry" },
  rerun_failed: { action: "rerun", mode: "failed_items" },
  rerun_full: { action: "rerun", mode: "full" },
  cancel: { action: "cancel" },
  run_now: { action: "run_now" },
  delete: {}, // a resource of its own, because it needs another role
};

interface BulkProps {
  jobs: JobLine[];
  q: string;
  all: boolean;
  total: { text: string; number: number };
  waiting: number;
  onAll: () => void;
  onClear: () => void;
  open: string | null;
  onOpen: (name: string | null) => void;
}

export function BulkBar({ jobs, q, all, total, waiting, onAll, onClear, open, onOpen }: BulkProps) {
  const { t, num } = useSpeech();
  const may = useMay("operator");
  const admin = useMay("admin");
  const failed = jobs.reduce((sum, job) => sum + (job.items.failed ?? 0), 0);
  const active = jobs.some((job) => !job.finished_at);
  const chosen = all ? { filter: q } : { ids: jobs.map((job) => job.id) };
  return (
    <>
      <section className="bulk" aria-label={t("bulk.label")}>
        <IconButton icon="x" label={t("bulk.clear")} onClick={onClear} />
        <div>
          <p>
            <b>
              {all ? t("bulk.all", { count: total.text, n: total.number }) : t("bulk.selected", { n: jobs.length })}
            </b>{" "}
            {!all && total.number > jobs.length && (
              <button type="button" className="link" onClick={onAll}>
                {t("bulk.selectall", { count: total.text, n: total.number })}
              </button>
            )}
          </p>
          <p className="say2">{waiting > 0 ? t("bulk.still.waiting", { n: waiting }) : t("bulk.still")}</p>
        </div>
        <div className="acts">
          {admin && <Button onClick={() => onOpen("delete")}>{t("bulk.delete")}</Button>}
          {(active || all) && (
            <Button off={!may} onClick={() => onOpen("cancel")}>
              {t("bulk.cancel")}
            </Button>
          )}
          <Button off={!may} onClick={() => onOpen("retry")}>
            {t("bulk.retry")}
          </Button>
          <Button off={!may} onClick={() => onOpen("rerun_full")}>
            {t("bulk.full")}
          </Button>
          <Button look="primary" press="r" off={!may} onClick={() => onOpen("rerun_failed")}>
            {failed > 0 && !all ? t("bulk.failed", { n: failed, items: num(failed) }) : t("bulk.failed.plain")}
          </Button>
        </div>
      </section>
      {open && (open === "delete" ? admin : may) && (
        <BulkDialog key={open} name={open as Name} chosen={chosen} onClose={() => onOpen(null)} onDone={onClear} />
      )}
    </>
  );
}

type Chosen = { filter: string } | { ids: string[] };

export function BulkDialog({
  name,
  chosen,
  onClose,
  onDone,
}: {
  name: Name;
  chosen: Chosen;
  onClose: () => void;
  onDone: () => void;
}) {
  const { t, tWord } = useSpeech();
  const navigate = useNavigate();
  const fresh = useFresh();
  const wanted = { ...WANTED[name], ...chosen };
  const path = name === "delete" ? "deletion" : "bulk";
  const preview = useQuery({
    queryKey: [`${path}/preview`, wanted],
    queryFn: () => post<BulkPreview>(`${path}/preview`, wanted),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const found = preview.data;
  return (
    <ActionDialog
      title={tWord("bulk.title", name)}
      says={
        found ? t(found.acts ? "bulk.says" : "bulk.says.none", { n: found.acts, all: found.jobs }) : t("bulk.counting")
      }
      verb={found ? tWord("bulk.verb", name, { n: found.acts }) : tWord("bulk.title", name)}
      danger={name === "cancel" || name === "delete"}
      off={!found || found.acts === 0}
      run={(act) =>
        post<Started>(path, { ...wanted, digest: found!.digest, at: found!.at, reason: act.reason || null }, act.key)
      }
      onDone={(started) => {
        onDone();
        void fresh();
        void navigate({ to: "/jobs/$id", params: { id: (started as Started).job } });
      }}
      onClose={onClose}
    >
      {preview.isPending && <Waiting />}
      {preview.error && <ProblemNote problem={preview.error} />}
      {found && <p className="small soft">{tWord("bulk.words", name)}</p>}
      {found && found.skipped.length > 0 && (
        <ul className="skipped">
          {found.skipped.map((one) => (
            <li key={one.reason}>
              <b>{t("bulk.left", { n: one.jobs })}</b> {one.reason}{" "}
              <Link className="dim" to="/jobs/$id" params={{ id: one.example }}>
                …{tail(one.example)}
              </Link>
            </li>
          ))}
        </ul>
      )}
      {found?.more && <Note>{t("bulk.more", { n: found.jobs })}</Note>}
      <p className="small dim">{t("bulk.safe")}</p>
    </ActionDialog>
  );
}

/* Units that are files: the content names the work, not the file's name. */
import { Link } from "@tanstack/react-router";
import type { UnitFiles } from "../api/types";
import { useSpeech } from "../i18n";
import { Card } from "./basic";
import { StatusTag } from "./status";

const STATES: Record<string, string> = {
  complete: "completed",
  partial: "partial",
  failed: "failed",
  active: "running",
  missing: "pending",
};

export function UnitFileTable({ files }: { files: UnitFiles["files"] }) {
  const { t, num, moment } = useSpeech();
  return (
    <Card title={t("files.title")} sub={t("files.sub")}>
      <div className="scroll-x" tabIndex={0} role="group" aria-label={t("files.title")}>
        <table className="t cards stack">
          <thead>
            <tr>
              <th scope="col">{t("facts.file")}</th>
              <th scope="col">{t("facts.truth")}</th>
              <th scope="col" className="num">
                {t("items.ok.word")}
              </th>
              <th scope="col" className="num">
                {t("items.failed.word")}
              </th>
              <th scope="col">SHA-256</th>
              <th scope="col" className="num">
                {t("coverage.changed")}
              </th>
            </tr>
          </thead>
          <tbody>
            {files.map((file) => {
              const job = file.active_job ?? file.job;
              const name = file.text.split(" ").slice(1).join(" ") || file.text;
              return (
                <tr key={file.unit}>
                  <td className="mono">
                    {job ? (
                      <Link to="/jobs/$id" params={{ id: job }}>
                        {name}
                      </Link>
                    ) : (
                      name
                    )}
                  </td>
                  <td>
                    <StatusTag status={file.status ?? STATES[file.state] ?? "pending"} />
                  </td>
                  <td className="num" data-th={t("items.ok.word")}>
                    {num(file.items.ok)}
                  </td>
                  <td data-th={t("items.failed.word")} className={`num ${file.items.failed ? "partial fg" : "dim"}`}>
                    {num(file.items.failed)}
                  </td>
                  <td className="mono dim" data-th="SHA-256" title={file.sha256 ?? undefined}>
                    {file.sha256 ? `${file.sha256.slice(0, 8)}…` : "–"}
                  </td>
                  <td className="num dim nowrap" data-th={t("coverage.changed")}>
                    {moment(file.changed_at)}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

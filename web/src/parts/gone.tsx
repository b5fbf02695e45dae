/* An address that leads nowhere, and a page that could not be drawn. */
import { Link } from "@tanstack/react-router";
import { useSpeech } from "../i18n";
import { usePlace } from "./crumbs";

export function Gone({ error }: { error?: unknown; data?: unknown }) {
  const { t } = useSpeech();
  const broken = error instanceof Error;
  usePlace({ text: t(broken ? "gone.broken" : "gone.title") });
  return (
    <div className="page-head">
      <div>
        <h1>{t(broken ? "gone.broken" : "gone.title")}</h1>
        <p>{broken ? error.message : t("gone.text")}</p>
        <p>
          {broken ? (
            <button type="button" className="btn" onClick={() => window.location.reload()}>
              {t("gone.reload")}
            </button>
          ) : (
            <Link to="/">{t("nav.overview")}</Link>
          )}
        </p>
      </div>
    </div>
  );
}

/* An address that leads nowhere, a page that could not be drawn, and one whose code cannot be had now. */
import { useQueryClient } from "@tanstack/react-query";
import { Link, useRouter } from "@tanstack/react-router";
import { useSpeech } from "../i18n";
import { usePlace } from "./crumbs";

export function Gone() {
  const { t } = useSpeech();
  usePlace({ text: t("gone.title") });
  return (
    <div className="page-head">
      <div>
        <h1>{t("gone.title")}</h1>
        <p>{t("gone.text")}</p>
        <p>
          <Link to="/">{t("nav.overview")}</Link>
        </p>
      </div>
    </div>
  );
}

/** In the place of a page that failed; the navigation around it stays. */
export function Broken({ error, reset }: { error: unknown; reset?: () => void }) {
  const { t } = useSpeech();
  const router = useRouter();
  usePlace({ text: t("gone.broken") });
  const queries = useQueryClient();
  const again = () => {
    queries.removeQueries({ type: "inactive" }); // what this page could not draw is not drawn again
    reset?.();
    void router.invalidate();
  };
  return (
    <div className="page-head" role="alert">
      <div>
        <h1>{t("gone.broken")}</h1>
        <p className="wrap-any">{error instanceof Error ? error.message : String(error)}</p>
        <p>
          <button type="button" className="btn" onClick={again}>
            {t("gone.again")}
          </button>{" "}
          <button type="button" className="btn quiet" onClick={() => window.location.reload()}>
            {t("gone.reload")}
          </button>
        </p>
      </div>
    </div>
  );
}

/** While the server is away: what was asked for is shown as soon as it can be had. */
export function Away() {
  const { t } = useSpeech();
  return (
    <div className="page-head" role="status">
      <div>
        <h1>{t("away.title")}</h1>
        <p>{t("away.text")}</p>
      </div>
    </div>
  );
}

/* What plug-ins show on the overview: one card for each page that has a strip. */
import { Link } from "@tanstack/react-router";
import { usePluginPages } from "../api/queries";
import { useSpeech } from "../i18n";
import { Card } from "./basic";
import { later } from "./later";

const Mounted = later(async () => (await import("./mounted")).Mounted);

export function PluginStrips() {
  const { t } = useSpeech();
  const pages = usePluginPages().data?.pages.filter((page) => page.strip) ?? [];
  return pages.map((page) => (
    <Card
      key={page.module + page.name}
      className="plugin-strip"
      title={page.title}
      end={
        <Link className="small" to="/pages/$plugin/$name" params={{ plugin: page.plugin, name: page.name }}>
          {t("all")}
        </Link>
      }
    >
      <div className="card-body">
        <Mounted page={page} part="strip" />
      </div>
    </Card>
  ));
}

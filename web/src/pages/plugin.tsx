/* A page of a plug-in: its title is ours, what is below it is drawn by the module of the plug-in. */
import { useParams, useSearch } from "@tanstack/react-router";
import { usePluginPages } from "../api/queries";
import type { PluginPage } from "../api/types";
import { Head, Waiting } from "../parts/basic";
import { usePlace } from "../parts/crumbs";
import { Gone } from "../parts/gone";
import { Mounted } from "../parts/mounted";
import { ProblemNote } from "../parts/problem";

export function PluginPlace() {
  const { plugin, name } = useParams({ from: "/pages/$plugin/$name" });
  const pages = usePluginPages();
  const page = pages.data?.pages.find((one) => one.plugin === plugin && one.name === name);
  if (page) return <Found page={page} />;
  if (pages.isPending) return <Waiting />;
  if (pages.error) return <ProblemNote problem={pages.error} onRetry={() => void pages.refetch()} />;
  return <Gone />;
}

function Found({ page }: { page: PluginPage }) {
  const search = useSearch({ from: "/pages/$plugin/$name" });
  usePlace({ text: page.title });
  return (
    <>
      <Head title={page.title} />
      <Mounted key={page.plugin + page.name} page={page} part="mount" search={search} />
    </>
  );
}

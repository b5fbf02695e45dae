/* Where one is: said by the page that is open, shown in the header and in the window's title. */
import { useEffect } from "react";
import { value } from "../lib/store";

export interface Crumb {
  text: string;
  to?: string;
}

const crumbs = value<Crumb[]>([]);
const ICONS = {
  calm: new URL("../icon.svg", import.meta.url).href,
  open: new URL("../icon-open.svg", import.meta.url).href,
};

/** How many errors want somebody: told by the title and the icon of the window, which are seen while another is in front. */
export const openErrors = value(0, entitle);

function entitle(): void {
  const here = crumbs.get().map((crumb) => crumb.text);
  const number = openErrors.get();
  document.title = `${number > 0 ? `(${number}) ` : ""}${[...here].reverse().join(" · ")} · jobtrail`;
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (icon) icon.href = number > 0 ? ICONS.open : ICONS.calm;
}

export const useCrumbs = () => crumbs.use();

export function usePlace(...path: Crumb[]): void {
  const key = path.map((crumb) => `${crumb.text}\n${crumb.to ?? ""}`).join("\r");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when the path is another one
  useEffect(() => {
    crumbs.set(path);
    entitle();
  }, [key]);
}

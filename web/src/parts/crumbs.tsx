/* Where one is: said by the page that is open, shown in the header and in the window's title. */
import { useEffect } from "react";
import { value } from "../lib/store";

export interface Crumb {
  text: string;
  to?: string;
}

const crumbs = value<Crumb[]>([]);

export const useCrumbs = () => crumbs.use();

export function usePlace(...path: Crumb[]): void {
  const key = path.map((crumb) => `${crumb.text}\n${crumb.to ?? ""}`).join("\r");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when the path is another one
  useEffect(() => {
    crumbs.set(path);
    document.title = `${path
      .map((crumb) => crumb.text)
      .reverse()
      .join(" · ")} · jobtrail`;
  }, [key]);
}

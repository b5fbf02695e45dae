/* Light or dark: what was chosen here, else what the system says. */
import { kept } from "./store";

export type Theme = "light" | "dark";

const chosen = kept<Theme | null>("jobtrail.theme", null);
const system = window.matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  const asked = new URLSearchParams(window.location.search).get("theme");
  if (chosen.get() === null && (asked === "dark" || asked === "light")) return asked;
  return chosen.get() ?? (system.matches ? "dark" : "light");
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
}

export function useTheme(): [Theme, () => void] {
  chosen.use();
  return [theme(), () => chosen.set(theme() === "dark" ? "light" : "dark")];
}

chosen.listen(applyTheme);
system.addEventListener("change", applyTheme);

/* Begins: language and colours first, so that nothing is drawn twice. */
import "./styles/index.css";
import { createRoot } from "react-dom/client";
import { begin } from "./api/live";
import { firstAnswers } from "./api/queries";
import { App, client, router } from "./app";
import { speak, wanted } from "./i18n";
import { applyTheme } from "./lib/theme";
import { prefetch } from "./parts/later";

const PREFETCH = 3000; // ms after the first page is shown: it does not compete with what that page asks for

applyTheme();
document.documentElement.lang = wanted(); // the first answers come in it, too
void router.load(); // the page's file and its first answers come while the language does
await speak(wanted());
createRoot(document.getElementById("root")!).render(<App />);
await firstAnswers(client);
begin(client);
window.setTimeout(() => void prefetch(), PREFETCH);

/* Begins: language and colours first, so that nothing is drawn twice. */
import "./styles/index.css";
import { createRoot } from "react-dom/client";
import { begin } from "./api/live";
import { App, client } from "./app";
import { speak, wanted } from "./i18n";
import { applyTheme } from "./lib/theme";

applyTheme();
await speak(wanted());
createRoot(document.getElementById("root")!).render(<App />);
begin(client);

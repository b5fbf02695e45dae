/* A status: shape, word and colour together; and who did something, as people say it. */
import { useSpeech } from "../i18n";
import { actorParts, shapeOf } from "../lib/words";
import { Icon } from "./basic";

export function StatusTag({ status, look }: { status: string; look?: "badge" | "badge big" }) {
  const { tWord } = useSpeech();
  return (
    <span className={`st ${status} ${look ?? ""}`}>
      <Icon of={shapeOf(status)} />
      <span>{tWord("status", status)}</span>
    </span>
  );
}

export function useActor(): (actor: string | null | undefined) => string {
  const { tWord } = useSpeech();
  return (actor) => {
    const parts = actorParts(actor);
    if (!parts) return "–";
    if (parts.kind === "person") return parts.name === "local" ? tWord("actor", "local") : parts.name;
    const kind = tWord("actor", parts.kind);
    return parts.name ? `${kind} ${parts.name}` : kind;
  };
}

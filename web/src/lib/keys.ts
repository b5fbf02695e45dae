/* Keys: pages say what a key does while they are open; nothing happens while somebody types or a dialog is open. */
import { useEffect, useRef } from "react";

type Handler = (event: KeyboardEvent) => void;
const layers: { current: Record<string, Handler> }[] = [];

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return target instanceof HTMLInputElement && target.type !== "checkbox" && target.type !== "radio";
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  for (const layer of [...layers].reverse()) {
    const handler = layer.current[event.key];
    if (handler) {
      event.preventDefault();
      handler(event);
      return;
    }
  }
}

export function useKeys(keys: Record<string, Handler>): void {
  const layer = useRef(keys);
  layer.current = keys;
  useEffect(() => {
    if (layers.length === 0) window.addEventListener("keydown", pressed);
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
      if (layers.length === 0) window.removeEventListener("keydown", pressed);
    };
  }, []);
}

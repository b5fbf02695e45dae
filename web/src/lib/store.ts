/* A value that lives in this browser and is watched by components. */
import { useSyncExternalStore } from "react";

export interface Kept<T> {
  get: () => T;
  set: (next: T) => void;
  use: () => T;
  listen: (listener: () => void) => () => void;
}

export function value<T>(first: T, onChange?: (next: T) => void): Kept<T> {
  let current = first;
  const listeners = new Set<() => void>();
  const listen = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const get = () => current;
  const set = (next: T) => {
    if (Object.is(next, current)) return;
    current = next;
    onChange?.(next);
    for (const listener of listeners) listener();
  };
  return { get, set, listen, use: () => useSyncExternalStore(listen, get) };
}

export function kept<T>(name: string, first: T): Kept<T> {
  let start = first;
  try {
    const text = window.localStorage.getItem(name);
    if (text !== null) start = JSON.parse(text) as T;
  } catch {
    /* nothing kept */
  }
  return value(start, (next) => {
    try {
      window.localStorage.setItem(name, JSON.stringify(next));
    } catch {
      /* it lasts as long as the page */
    }
  });
}

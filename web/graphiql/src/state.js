// What the parts of the page share: settings, which last for the session, whether the last answer refused an anonymous
// caller, and how the live operation is doing.
import { useSyncExternalStore } from "react";

const kept = { token: "", transport: "websocket" };
const quiet = { phase: "idle", detail: "", count: 0, resumed: 0, cursor: "", events: [] };
let state = { ...quiet, ...kept, refused: false };
for (const key in kept) state[key] = sessionStorage.getItem("tidings." + key) ?? kept[key];

const listeners = new Set();

export const get = () => state;

export function set(change) {
  state = { ...state, ...change };
  for (const key in kept) if (key in change) sessionStorage.setItem("tidings." + key, change[key]);
  for (const listener of listeners) listener();
}

// begin forgets how the last live operation did.
export const begin = () => set({ ...quiet, phase: "connecting" });

// happened notes events of the live operation: the newest 100 are kept.
export function happened(results) {
  const at = new Date(), events = results.slice(-100).map(result => ({ at, result })).reverse();
  const cursor = results.findLast(result => result.extensions?.cursor)?.extensions.cursor ?? state.cursor;
  set({ count: state.count + results.length, cursor, events: [...events, ...state.events].slice(0, 100) });
}

export const useShared = () => useSyncExternalStore(subscribe, get);

function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// The line above: who calls, how subscriptions come, and how the live one is doing.
import { useState } from "react";
import { set, useShared } from "./state.js";

export function Bar() {
  return (
    <header className="tidings-bar">
      <strong>Tidings</strong>
      <Token />
      <Transport />
      <Connection />
    </header>
  );
}

// Token is no password field: a browser would offer to keep what is in it.
function Token() {
  const { token } = useShared(), [shown, show] = useState(false);
  const who = claims(token);
  return (
    <div className="tidings-token">
      <input
        id="token" aria-label="Token" className={shown ? "" : "hidden"} value={token} autoComplete="off" autoCapitalize="off" spellCheck="false"
        placeholder="Token; none: anonymous" onChange={event => set({ token: event.target.value })}
        title="Kept in this browser tab alone, until it is closed. The terminal in which the service runs shows tokens when it starts."
      />
      <button type="button" aria-pressed={shown} onClick={() => show(!shown)}>{shown ? "hide" : "show"}</button>
      <span id="who" title={who.title}>{who.text}</span>
    </div>
  );
}

// Hint says where a token comes from when an operation was refused for want of one.
export function Hint() {
  const { refused, token } = useShared();
  if (!refused || token.trim()) return null;
  return (
    <p id="hint" role="status">
      This wants somebody who is signed in. Paste a token above: the terminal in which the service runs shows <code>USER_TOKEN</code> and <code>ADMIN_TOKEN</code>.
    </p>
  );
}

// claims says what stands in a token. Whether it is good is for the service to say.
function claims(token) {
  if (!token.trim()) return { text: "anonymous" };
  try {
    const part = token.trim().replace(/^Bearer\s+/i, "").split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
    const { sub, roles, exp } = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), c => c.charCodeAt(0))));
    const over = exp && exp * 1000 < Date.now();
    return { text: [sub, [roles].flat().filter(Boolean).join(", ")].filter(Boolean).join(" · ") + (over ? " · expired" : ""), title: exp && "until " + new Date(exp * 1000).toLocaleString() };
  } catch {
    return { text: "not a JWT" };
  }
}

const transports = { websocket: "WebSocket", sse: "SSE" };

function Transport() {
  const { transport } = useShared();
  return (
    <fieldset className="tidings-transport" title="How subscriptions come; from the next one on">
      <legend>Subscriptions over</legend>
      {Object.entries(transports).map(([value, name]) => (
        <label key={value}>
          <input type="radio" name="transport" value={value} checked={transport === value} onChange={() => set({ transport: value })} />
          <span>{name}</span>
        </label>
      ))}
    </fieldset>
  );
}

const phases = {
  idle: "no subscription", connecting: "connecting …", connected: "live", waiting: "away, trying again …",
  stopped: "stopped", completed: "completed", failed: "ended",
};

function Connection() {
  const { phase, detail, count, resumed } = useShared();
  const parts = [phases[phase], detail, phase !== "idle" && `${count} event${count === 1 ? "" : "s"}`, resumed > 0 && `resumed ${resumed}×`];
  return <output id="connection" data-phase={phase} title={detail}>{parts.filter(Boolean).join(" · ")}</output>;
}

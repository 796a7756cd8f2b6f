// The events of the live operation, the newest first: GraphiQL itself shows the last alone.
import { useShared } from "./state.js";

function Live() {
  const { events, count, cursor } = useShared();
  return (
    <section className="tidings-panel" aria-label="Live events">
      <h2>Live events</h2>
      {!count && <p>Run a subscription: its events are listed here, the newest first. When its connection ends it goes on where it was, by the cursor of the last event.</p>}
      {count > events.length && <p>The newest {events.length} of {count}.</p>}
      {cursor && <p>Cursor <code>{cursor}</code></p>}
      {events.map((event, i) => (
        <article key={count - i}>
          <time dateTime={event.at.toISOString()}>{count - i} · {event.at.toLocaleTimeString()}</time>
          <pre>{JSON.stringify(event.result.data ?? event.result, null, 1)}</pre>
        </article>
      ))}
    </section>
  );
}

const Icon = () => (
  <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
    <path d="M3 12h4l3-8 4 16 3-8h4" />
  </svg>
);

export const LIVE_PLUGIN = { title: "Live events", icon: Icon, content: Live };

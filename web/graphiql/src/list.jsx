// The examples of the loaded schema, each of which opens in a tab of its own.
import { useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { useSyncExternalStore } from "react";
import { examples } from "./examples.js";
import { referred } from "./referred.js";

let list = [], schema = null;
const listeners = new Set();

// follow makes the examples of a schema, and resolves to them.
export async function follow(next) {
  const known = await referred(next);
  schema = next;
  list = examples(next, known);
  for (const listener of listeners) listener();
  return list;
}

function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function Examples() {
  const shown = useSyncExternalStore(subscribe, () => list);
  const { addTab, setVisiblePlugin } = useGraphiQLActions();
  const { queryEditor, variableEditor } = useGraphiQL(({ queryEditor, variableEditor }) => ({ queryEditor, variableEditor }));
  const open = async ({ title }) => {
    const { query, variables } = (await follow(schema)).find(example => example.title === title);
    addTab();
    queryEditor?.setValue(query);
    variableEditor?.setValue(variables);
    if (matchMedia("(max-width: 700px)").matches) setVisiblePlugin(null); // it stands before the tab
  };
  return (
    <section className="tidings-panel" aria-label="Examples">
      <h2>Examples</h2>
      <p>Made from the schema that is loaded. Each opens in a tab.</p>
      <ul>
        {shown.map(example => (
          <li key={example.title}>
            <button type="button" onClick={() => open(example)}>{example.title} <small>{example.kind}</small></button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const Icon = () => (
  <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
    <path d="M4 6h16M4 12h16M4 18h10" />
  </svg>
);

export const EXAMPLES_PLUGIN = { title: "Examples", icon: Icon, content: Examples };

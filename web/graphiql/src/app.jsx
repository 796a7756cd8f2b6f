import { HISTORY_PLUGIN } from "@graphiql/plugin-history";
import { useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { GraphiQL } from "graphiql";
import { useEffect } from "react";
import { Bar, Hint } from "./bar.jsx";
import { storage } from "./kept.js";
import { EXAMPLES_PLUGIN, follow } from "./list.jsx";
import { LIVE_PLUGIN } from "./live.jsx";
import { watch } from "./schema.js";
import { fetcher } from "./transport.js";

const plugins = [HISTORY_PLUGIN, EXAMPLES_PLUGIN, LIVE_PLUGIN];
const inTabs = 6;

export function App({ list }) {
  return (
    <>
      <Bar />
      <Hint />
      <main>
        <GraphiQL
          fetcher={fetcher} storage={storage} plugins={plugins} defaultTabs={list.length ? list.slice(0, inTabs) : undefined}
          defaultEditorToolsVisibility="variables" shouldPersistHeaders={false} showPersistHeadersSettings={false} confirmCloseTab={() => true}
        >
          <GraphiQL.Footer><Fresh /></GraphiQL.Footer>
        </GraphiQL>
      </main>
    </>
  );
}

// Fresh has the documentation and the examples follow the schema when the service takes up another, and the editors the
// system's colours.
function Fresh() {
  const { introspect, setTheme } = useGraphiQLActions();
  const theme = useGraphiQL(state => state.theme);
  useEffect(() => {
    if (theme) return undefined; // the user has chosen
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const repaint = () => setTheme(null); // the editors do not look at the system again by themselves
    dark.addEventListener("change", repaint);
    return () => dark.removeEventListener("change", repaint);
  }, [theme, setTheme]);
  useEffect(() => watch(schema => {
    follow(schema);
    introspect();
  }), [introspect]);
  return null;
}

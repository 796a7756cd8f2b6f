import "./workers.js";
import "graphiql/style.css";
import "./style.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.jsx";
import { follow } from "./list.jsx";
import { load } from "./schema.js";
import { forgetForeignTabs } from "./tabs.js";

const schema = await load();
const list = schema ? await follow(schema) : [];
if (schema) forgetForeignTabs(schema);
createRoot(document.getElementById("root")).render(<App list={list} />);

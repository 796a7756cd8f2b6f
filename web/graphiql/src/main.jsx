import "./workers.js";
import "graphiql/style.css";
import "./style.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.jsx";
import { forgetForeignTabs } from "./kept.js";
import { follow } from "./list.jsx";
import { load } from "./schema.js";

const schema = await load();
const list = schema ? await follow(schema) : [];
if (schema) forgetForeignTabs(schema);
createRoot(document.getElementById("root")).render(<App list={list} />);

// Orders: each is asked for once more.

const asks = {
  operation: (o) => ["End this operation?", `${o.subject || "An anonymous caller"} is told FORBIDDEN for ${titleOf(o)}; what else runs on the connection goes on.`, "End it"],
  connection: (o) => ["Close this connection?", `The connection ${o.connection} of ${o.subject || "an anonymous caller"} is closed with 1012 and everything on it ends. Stock clients come back at once and resume; to keep somebody out, revoke their tokens.`, "Close it"],
  revoke: (o) => [`Revoke the tokens of ${o.subject}?`, `All tokens of ${o.subject} that were issued until now stop counting, in all processes and for good. Open connections are closed with 4403.`, "Revoke them"],
};

async function order(what, o) {
  const [title, text, yes] = asks[what](o);
  write($("ask-title"), title);
  write($("ask-text"), text);
  write($("ask-yes"), yes);
  const answer = await new Promise((resolve) => {
    $("ask").returnValue = "";
    $("ask").onclose = () => resolve($("ask").returnValue);
    $("ask").showModal();
  });
  if (answer !== "yes") return;
  try {
    const { done } = await live.ask(orders[what], { process: o.process, connection: o.connection, operation: o.id, subject: o.subject });
    toast(done ? { operation: "The operation was ended.", connection: "The connection was closed.", revoke: `The tokens of ${o.subject} count no more.` }[what] : "It is not there any more.");
  } catch (e) {
    toast(`That did not work: ${e.message}`);
  }
}

let toasting;
function toast(text) {
  write($("toast"), text);
  clearTimeout(toasting);
  toasting = setTimeout(() => write($("toast"), ""), 6000);
}

// What is asked for, and what the page knows.

const overviewQuery = `subscription Overview($after: DateTime) { overview(after: $after) { at here
  processes { id host role version started silent ready draining sockets streams operations groups deliveries executions commands requests opened
    latency { median high } queue queueLargest slowCloses refused resumed notResumed viewPosition viewLag busConnected busReconnects breakersOpen }
  log { last messages bytes maxBytes leader replicas current storeBytes storeMaxBytes }
  latency { median high }
  groups { field name document variables roles subject members processes }
  changes { sequence at kind type id bytes } } }`;
const operationsQuery = `subscription Operations($process: ID, $search: String!, $order: OperationOrder!) {
  operations(process: $process, search: $search, orderBy: $order, first: 50) { at total nodes {
    process connection id transport client subject roles expires name document variables begun delivered queue sequence } } }`;
const orders = {
  operation: `mutation($process: ID!, $connection: ID!, $operation: String!) { done: endOperation(process: $process, connection: $connection, operation: $operation) }`,
  connection: `mutation($process: ID!, $connection: ID!) { done: endConnection(process: $process, connection: $connection) }`,
  revoke: `mutation($subject: String!) { done: revoke(subject: $subject) }`,
};

const kept = 200; // looks
const few = 10; // operations that are shown at first
const key = "tidings.console.token";
let live, stopOperations, looks = [], listed = [], all = false;
const before = new Map(); // of each operation: how many it was given at the look before, and a second
const opened = new Set(); // operations whose details are shown

const plots = [
  [new Plot("Results a second", ["delivered", "executed"], rate), (p) => [p.deliveries, p.executions]],
  [new Plot("Work a second", ["commands", "queries, mutations"], rate), (p) => [p.commands, p.requests]],
  [new Plot("Connections", ["sockets", "event streams"], count), (p) => [p.sockets, p.streams]],
  [new Plot("Delivery latency", ["median", "99 in 100"], seconds, 0.003), null],
];
$("plots").append(...plots.map(([p]) => p.figure));

// ---- the processes that are chosen, as one

const chosen = (look) => look.processes.filter((p) => !$("pod").value || p.id === $("pod").value);
const sum = (list, name) => list.reduce((all, p) => (p[name] == null ? all : (all ?? 0) + p[name]), null);
const most = (list, name) => list.reduce((all, p) => (p[name] == null ? all : Math.max(all ?? 0, p[name])), null);
const latencyOf = (look) => ($("pod").value ? chosen(look)[0]?.latency : look.latency);

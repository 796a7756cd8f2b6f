// The editor's workers are files of this service: it would otherwise make them from blobs.
globalThis.MonacoEnvironment = {
  getWorker: (_, label) => new Worker(new URL(WORKERS[label] ?? WORKERS.editor, import.meta.url)),
};

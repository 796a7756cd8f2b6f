// resumeOld makes a SubscriptionClient put the last cursor into what it repeats.
export function resumeOld(client) {
  const request = client.request.bind(client);
  client.request = operation => {
    const repeated = { ...operation, extensions: { ...operation.extensions } };
    const results = request(repeated);
    const subscribe = results.subscribe;
    results.subscribe = observer => subscribe({
      next(result) {
        repeated.extensions.cursor = result.extensions?.cursor;
        observer.next(result);
      },
      error: error => observer.error?.(error),
      complete: () => observer.complete?.(),
    });
    return results;
  };
  return client;
}

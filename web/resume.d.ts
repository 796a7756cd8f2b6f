/**
 * Lets a client of npm's graphql-ws or graphql-sse (in both of its modes) go on where it was when a connection ends:
 * what it repeats brings the cursor of the last event or heartbeat that it has seen, so that no event is missed and
 * none comes twice. Each client needs a call of its own:
 *
 *     createClient(resume({ url, retryAttempts: Infinity, shouldRetry: () => true, ... }))
 *
 * @param options what createClient is given. It is not changed; its `on` and `fetchFn` are called as ever.
 * @returns the options to give to createClient.
 */
export function resume<Options extends object>(options: Options): Options;

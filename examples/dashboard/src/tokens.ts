/** The token that the page has been given. When the service refuses it, whoever needs one waits for another. */
export class Tokens {
  #token = "";
  #another = Promise.withResolvers<void>();

  /** @param ask shows where a token is entered, and why. */
  constructor(readonly ask: (why: string) => void) {}

  /** What there is now; empty when there is none. */
  get now(): string {
    return this.#token;
  }

  /** Resolves as soon as there is a token. */
  async ready(): Promise<void> {
    while (!this.#token) await this.#another.promise;
  }

  set(token: string): void {
    this.#token = token;
    this.#another.resolve();
    this.#another = Promise.withResolvers();
  }

  /** The service does not take the token, or not any more. */
  refuse(token: string): void {
    if (token !== this.#token) return; // another has come meanwhile
    this.#token = "";
    this.ask("The service does not take this token, or it has ended. With another one the plot goes on without a gap.");
  }
}

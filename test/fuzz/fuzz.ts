/** Sends requests on several connections at once, checks each answer, and collects what is wrong. */
import type { InterfaceDocument } from '../support/interface-document.ts';
import { Random } from '../support/random.ts';
import type { RawAnswer } from './answers.ts';
import { AnswerChecker } from './check.ts';
import { Connection } from './connection.ts';
import { deliver, whole, type Delivery } from './deliveries.ts';
import { learn } from './learn.ts';
import { RequestMaker, type FuzzRequest } from './requests.ts';
import { Things, type FuzzTeam } from './things.ts';

interface FuzzOptions {
  readonly urls: readonly string[];
  readonly document: InterfaceDocument;
  /** Teams that send requests; each also names what the others have. */
  readonly teams: readonly FuzzTeam[];
  /** A team that sends none: what it has must stay as it is. */
  readonly victim: FuzzTeam;
  readonly connections: number;
  readonly seed: number;
}

/** More kinds of problems end the run. */
const findingsMax = 20;
/** How often a request with an Idempotency-Key is sent again. */
const repeated = 0.2;
/** How often each connection asks for an operation that no request before has succeeded with. */
const attemptsMax = 20;

export class Fuzz {
  /** How often each operation had each status and error type. */
  readonly tally = new Map<string, number>();
  /** The first example of each kind of problem. */
  readonly findings = new Map<string, string>();
  sent = 0;
  readonly #clients: readonly FuzzClient[];

  constructor({ urls, document, teams, victim, connections, seed }: FuzzOptions) {
    const checker = new AnswerChecker(document, [...teams, victim]);
    this.#clients = Array.from({ length: connections }, (_, n) => {
      const team = teams[n % teams.length]!;
      return new FuzzClient(
        this,
        { url: urls[n % urls.length]!, team, checker },
        {
          // Sequences of requests depend on nothing but the seed and the answers on the same connection.
          random: new Random(seed * 1000 + n),
          document,
          others: [...teams, victim].filter((other) => other !== team),
        },
      );
    });
  }

  /** Goes on until so many more requests were sent, or there are too many problems. */
  async run(requests: number): Promise<void> {
    const sentMax = this.sent + requests;
    const goesOn = (): boolean => this.sent < sentMax && this.findings.size < findingsMax;
    await Promise.all(
      this.#clients.map(async (client) => {
        while (goesOn()) await client.step();
      }),
    );
  }

  /**
   * Random requests may leave an operation out, or never succeed with it. Sends valid requests for each such operation
   * until one succeeds; resolves to the operations that never did.
   */
  async askForMissing(operationIds: readonly string[]): Promise<readonly string[]> {
    const isMissing = (operationId: string): boolean =>
      ![...this.tally.keys()].some((key) => new RegExp(`^${operationId} (?:2|302)`).test(key));
    for (const operationId of operationIds) {
      for (let attempt = 0; attempt < attemptsMax && isMissing(operationId); attempt += 1) {
        for (const client of this.#clients) await client.ask(operationId);
      }
    }
    return operationIds.filter(isMissing);
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  find(kind: string, example: string): void {
    if (!this.findings.has(kind)) this.findings.set(kind, `${kind}\n${example}`);
  }

  count(request: FuzzRequest, answer: RawAnswer | undefined): void {
    this.sent += 1;
    const type =
      answer === undefined
        ? 'unanswered'
        : `${answer.status}${/"type":"(\w+)","message"/.exec(answer.body.toString('latin1', 0, 100))?.[1]?.replace(/^/, ' ') ?? ''}`;
    const key = `${request.operationId ?? 'unknown'} ${type}`;
    this.tally.set(key, (this.tally.get(key) ?? 0) + 1);
  }
}

class FuzzClient {
  readonly #fuzz: Fuzz;
  readonly #team: FuzzTeam;
  readonly #checker: AnswerChecker;
  readonly #connection: Connection;
  readonly #random: Random;
  readonly #maker: RequestMaker;
  readonly #things = new Things();

  constructor(
    fuzz: Fuzz,
    { url, team, checker }: { url: string; team: FuzzTeam; checker: AnswerChecker },
    { random, document, others }: { random: Random; document: InterfaceDocument; others: readonly FuzzTeam[] },
  ) {
    this.#fuzz = fuzz;
    this.#team = team;
    this.#checker = checker;
    this.#connection = new Connection(url);
    this.#random = random;
    this.#maker = new RequestMaker(random, document.document, { team, others, mine: this.#things });
  }

  /** One delivery, and its answers. */
  async step(): Promise<void> {
    const request = this.#maker.make();
    const delivery = deliver(request, () => this.#maker.make(), this.#random);
    const answers = await this.#exchange(delivery);
    const isAlone = delivery.requests.length === 1 && delivery.requests[0] === request;
    const isDone =
      delivery.isFramed &&
      isAlone &&
      answers.length === 1 &&
      (answers[0]!.status === 200 || answers[0]!.status === 201);
    if (
      isDone &&
      request.headers.filter(([name]) => name === 'Idempotency-Key').length === 1 &&
      this.#random.chance(repeated)
    )
      await this.#repeat(request, answers[0]!);
  }

  /** One valid request for this operation. */
  async ask(operationId: string): Promise<void> {
    await this.#exchange(whole(this.#maker.makeValid(operationId)));
  }

  close(): void {
    this.#connection.close();
  }

  /** The same request with the same key has the same answer. */
  async #repeat(request: FuzzRequest, first: RawAnswer): Promise<void> {
    const [again] = await this.#exchange(whole(request));
    const textOf = (answer: RawAnswer | undefined): string =>
      `${answer?.status} ${answer?.headers.get('etag')} ${answer?.body.toString()}`;
    if (textOf(again) !== textOf(first))
      this.#report(request, 'another answer to the same Idempotency-Key', `${textOf(first)}\n${textOf(again)}`);
  }

  async #exchange(delivery: Delivery): Promise<readonly RawAnswer[]> {
    const { requests, pieces, isFramed } = delivery;
    try {
      const { answers, rest } = await this.#connection.exchange(delivery);
      for (const [at, request] of requests.entries()) this.#take(delivery, request, answers[at]);
      if (isFramed && answers.length < requests.length && answers.at(-1)?.isLast !== true)
        this.#report(requests[answers.length]!, 'no answer', `${rest.toString('latin1', 0, 500)}\n${shown(pieces)}`);
      return answers;
    } catch (error) {
      this.#report(requests[0]!, (error as Error).message, shown(pieces));
      return [];
    }
  }

  #take({ isFramed, pieces }: Delivery, request: FuzzRequest, answer: RawAnswer | undefined): void {
    this.#fuzz.count(request, answer);
    if (answer === undefined) return;
    // What is no valid HTTP may have become another request: of that only its form is known.
    const problem = this.#checker.problemOf(this.#team, request, answer, isFramed);
    if (problem !== null) this.#report(request, `${answer.status} ${problem}`, isFramed ? '' : shown(pieces));
    learn(this.#things, request, answer);
  }

  #report(request: FuzzRequest, problem: string, details: string): void {
    const { method, target, headers, body, operationId } = request;
    const sent = `${method} ${target.slice(0, 500)}\n${headers.map(([name, value]) => `${name}: ${value.slice(0, 300)}`).join('\n')}\n\n${JSON.stringify(body?.toString('latin1', 0, 2000))}`;
    this.#fuzz.find(
      `${operationId ?? 'unknown'}: ${problem.slice(0, 160).replaceAll(/[0-9a-f-]{30,}/g, '…')}`,
      `${sent}\n${problem}\n${details}`,
    );
  }
}

function shown(pieces: readonly Buffer[]): string {
  return pieces.map((piece) => JSON.stringify(piece.toString('latin1', 0, 2000))).join('\n');
}

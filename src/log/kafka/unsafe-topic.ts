/** The topic is unfit to hold a log. The message lists every problem, and what to do. */
export class UnsafeTopic extends Error {
  override readonly name = 'UnsafeTopic';
}

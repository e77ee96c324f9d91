/** The sentence for a partition that has halted, for anybody to read: it does not say why. */
export function describeHalt(partition: number): string {
  return `Partition ${partition} has halted.`;
}

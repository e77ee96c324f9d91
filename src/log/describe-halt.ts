/** The sentence for a halted partition. Anybody may read it, so it does not say why the partition halted. */
export function describeHalt(partition: number): string {
  return `Partition ${partition} has halted.`;
}

/** The environment is invalid, or a setting names something that cannot be used. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One line per problem: the setting's name, the problem and its remedy. Values that may be secrets are left out. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(`The settings are not usable:\n${problems.join('\n')}`, options);
    this.problems = problems;
  }
}

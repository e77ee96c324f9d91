/**
 * The keys of all Postgres advisory locks that this project takes. Processes of every version must agree on them: the
 * meaning of a key never changes, and a new lock gets a new key. "Transaction": held until the transaction ends;
 * "session": until it is released, or the connection ends.
 *
 * | Lock            | Guards                                          | Held for    | Taken                       |
 * |-----------------|-------------------------------------------------|-------------|-----------------------------|
 * | createReadModel | creating the schema of a read model             | transaction | alone                       |
 * | createLog       | creating the tables of a log in Postgres        | transaction | alone                       |
 * | createFirstTeam | creating the first team and its token           | session     | alone                       |
 * | useReadModel    | a read model in use                             | session     | shared; alone to restore it |
 * | replaceReadModel | building a read model to replace the present one | session    | alone, or not at all        |
 * | verify          | the schema that `tablog verify` builds          | session     | alone, or not at all        |
 * | changeKeys      | creating, reading and changing the signing keys | transaction | alone                       |
 * | nameLog         | naming a new log in Kafka                       | transaction | alone                       |
 * | resumeLog       | resuming a log in Postgres in another history   | transaction | alone                       |
 * | moveLog         | moving the log                                  | session     | alone, or not at all        |
 * | createNotes     | creating the tables beside log and read model   | transaction | alone                       |
 * | agreeOnLanguage | which language of events may be written         | transaction | alone                       |
 * | maintenance     | background work on one read model               | session     | alone, or not at all        |
 * | fillReadModel   | filling a read model before it serves           | session     | alone, or not at all        |
 * | usesReadModel   | a read model in use, by the name of its schema  | both        | shared; alone to remove it  |
 * | forgetGenerations | removing the row IDs of a table's old generations | transaction | alone                     |
 * | readLanguage    | a process that reads events up to a language    | session     | shared                      |
 * | useServer       | the embedded Postgres in use                    | session     | shared; alone to stop it    |
 */
export const advisoryLocks = {
  createReadModel: 7_460_231_001,
  createLog: 7_460_231_002,
  createFirstTeam: 7_460_231_003,
  useReadModel: 7_460_231_004,
  verify: 7_460_231_005,
  changeKeys: 7_460_231_006,
  nameLog: 7_460_231_007,
  createNotes: 7_460_231_009,
  resumeLog: 7_460_231_010,
  replaceReadModel: 7_460_231_011,
  moveLog: 7_460_231_038,
  agreeOnLanguage: 7_460_231_043,
  /**
   * The first of two 32-bit keys; the second is `hashtext` of the read model's schema. Two-key locks never conflict
   * with one-key locks.
   */
  maintenance: 1_017_780_060,
  fillReadModel: 1_017_780_062,
  usesReadModel: 1_017_780_063,
  /** The second key is `hashtext` of the read model's schema and of the table's ID. */
  forgetGenerations: 1_017_780_064,
  /** The second key is the language. */
  readLanguage: 1_017_780_061,
  /** "tablog" in ASCII. Taken in the database `postgres`, not in the one of `DATABASE_URL`. */
  useServer: 0x7461626c6f67,
} as const;

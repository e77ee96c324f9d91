/** Words of SQL that the editor completes: those that the service accepts. */

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

export const keywords: readonly string[] =
  words(`select distinct from where group by having qualify order asc desc nulls first last limit offset as and or not
    in is null like ilike glob between exists case when then else end cast try_cast on using join inner left right
    full outer cross semi anti asof lateral union intersect except all any some values with recursive over partition
    window rows range groups unbounded preceding following current row filter grouping sets rollup cube true false
    interval at time zone collate escape`);

export const types: readonly string[] = words(
  `boolean tinyint smallint integer bigint hugeint float double decimal varchar blob date time timestamp uuid json map struct`,
);

/** Functions that people use often. The service allows more. */
export const functions: readonly string[] =
  words(`abs any_value arg_max arg_min array_agg avg bool_and bool_or ceil coalesce concat concat_ws contains corr
    count count_if date_diff date_part date_trunc day dayname ends_with epoch extract first first_value floor greatest
    histogram hour lag last last_value lead least left len length list list_contains list_distinct list_sort ln log10
    lower lpad ltrim max md5 median min minute mode month monthname nullif now ntile percent_rank pow quantile_cont
    quarter random rank dense_rank regexp_extract regexp_matches regexp_replace repeat replace reverse right round
    row_number rpad rtrim second sha256 sign split_part sqrt starts_with stddev strftime string_agg string_split
    strip_accents strptime strpos substring sum time_bucket today trim trunc try_strptime unnest upper variance week
    year`);

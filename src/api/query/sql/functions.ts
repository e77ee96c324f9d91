/**
 * The functions that SQL of a team may use: functions that compute a value from their arguments. All other functions
 * are refused, including new ones of later versions of DuckDB. Refused are functions that read files, settings,
 * variables, sequences, the catalogue, the session or the plan, that wait, write logs, run text as SQL, or take the
 * name of a function as a text. Also refused are a few that no guard can bound: `reservoir_quantile`, whose sample can
 * have any size; `json_contains` and `json_merge_patch`, which overflow the stack on deeply nested JSON; and
 * `list_reduce`, which can double a value for each element. function-bounds.ts has the bounds of allowed functions.
 */

/** The words of a text with white space between them. */
export const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Functions of scalars, aggregates and windows. */
export const functions: ReadonlySet<string> = new Set([
  // Numbers
  ...words(`abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees divide
    even exp factorial fdiv floor fmod gamma gcd greatest_common_divisor isfinite isinf isnan lcm
    least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow power radians random round round_even
    roundbankers sign signbit sin sinh sqrt subtract tan tanh trunc xor`),
  // Texts
  ...words(`ascii bar base64 bin bit_length char_length character_length chr concat concat_ws contains
    damerau_levenshtein decode editdist3 encode ends_with format format_bytes from_base64 from_binary from_hex hamming
    hex ilike_escape instr jaccard jaro_similarity jaro_winkler_similarity lcase left left_grapheme len length
    length_grapheme levenshtein like_escape lower lpad ltrim md5 mismatches nfc_normalize not_ilike_escape
    not_like_escape octet_length ord position prefix printf regexp_escape regexp_extract regexp_extract_all
    regexp_full_match regexp_matches regexp_replace regexp_split_to_array repeat replace reverse right right_grapheme
    rpad rtrim sha1 sha256 split split_part starts_with str_split str_split_regex string_split string_split_regex
    string_to_array strip_accents strlen strpos substr substring substring_grapheme suffix to_base to_base64 to_binary
    to_hex translate trim ucase unbin unhex unicode upper url_decode url_encode`),
  // Dates and times
  ...words(`age century current_date current_localtimestamp date_add date_diff date_part date_sub date_trunc datediff
    datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns
    epoch_us era get_current_timestamp hour isodow isoyear julian last_day make_date make_time make_timestamp
    make_timestamp_ms microsecond millennium millisecond minute month monthname nanosecond normalized_interval now
    quarter second strftime strptime time_bucket timezone to_centuries to_days to_decades to_hours to_microseconds
    to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today
    try_strptime week weekday weekofyear year yearweek`),
  // Conditions and types
  ...words(`constant_or_null error gen_random_uuid greatest hash least nullif row typeof uuid uuidv4 uuidv7`),
  // Lists, structs, maps and JSON
  ...words(`apply array_append array_apply array_cat array_concat array_contains array_distinct array_extract
    array_filter array_grade_up array_has array_has_all array_has_any array_indexof array_intersect array_length
    array_pop_back array_pop_front array_position array_prepend array_push_back array_push_front array_resize
    array_reverse array_reverse_sort array_select array_slice array_sort array_to_json array_to_string array_transform
    array_unique array_where array_zip cardinality element_at flatten generate_series generate_subscripts grade_up
    json_array json_array_length json_exists json_extract json_extract_path json_extract_path_text json_extract_string
    json_group_array json_group_object json_keys json_object json_quote json_type json_valid json_value list_any_value
    list_append list_apply list_avg list_bool_and list_bool_or list_cat list_concat list_contains
    list_cosine_similarity list_count list_distance list_distinct list_element list_extract list_filter list_first
    list_grade_up list_has list_has_all list_has_any list_indexof list_inner_product list_intersect list_last list_max
    list_median list_min list_mode list_pack list_position list_prepend list_product list_resize list_reverse
    list_reverse_sort list_select list_slice list_sort list_sum list_transform list_unique list_value list_where
    list_zip map map_concat map_contains map_contains_entry map_contains_value map_entries map_extract
    map_extract_value map_from_entries map_keys map_values range row_to_json struct_extract struct_pack to_json
    unnest`),
  // Aggregates and windows
  ...words(`any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_min
    arg_min_null argmax argmin array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if count_star
    countif covar_pop covar_samp cume_dist dense_rank entropy favg first first_value fsum geomean geometric_mean
    group_concat histogram kahan_sum kurtosis kurtosis_pop lag last last_value lead list listagg mad max max_by mean
    median min min_by mode nth_value ntile percent_rank product quantile quantile_cont quantile_disc rank rank_dense
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy row_number sem
    skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan var_pop var_samp variance wavg
    weighted_avg`),
]);

/** Functions that are written as operators. */
export const sqlOperators: ReadonlySet<string> = new Set(
  words('+ - * / // % ** ^ || & | << >> ~ @ ^@ ~~ !~~ ~~* !~~* ~~~ @> <@ && ->>'),
);

/** Functions that may be used like a table. */
export const tableFunctions: ReadonlySet<string> = new Set(['unnest', 'range', 'generate_series']);

/** Functions whose arguments may be lambdas. */
export const lambdaFunctions: ReadonlySet<string> = new Set(
  words(`apply array_apply array_filter array_transform list_apply list_filter list_transform`),
);

/** Functions that the engine expands, with an argument in up to three places. */
export const copyingFunctions: ReadonlySet<string> = new Set(
  words(
    `array_pop_back array_to_string fmod json_group_array json_group_object map_contains_entry nullif round_even roundbankers split_part wavg weighted_avg`,
  ),
);

/**
 * Functions whose result is broken if it is an empty list of lists: casting it to text gives an internal error in
 * DuckDB 1.5.5, after which the process must end. A slice of the whole list is sound.
 */
export const brokenWhenEmpty: ReadonlySet<string> = new Set(
  words(`array_intersect array_select array_where list_intersect list_select list_where`),
);

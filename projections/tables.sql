-- Made from the entities and the storage of the models (src/log/read-model.ts).

create table "app_links" ("table_id" uuid not null, "app_id" text not null, primary key ("table_id", "app_id"));

create table "body_blocks" ("body_id" uuid not null, "number" int not null, "team_id" uuid not null, "segment" bigint not null, "profile" text not null, "ids" bytea null, "time" bigint not null, primary key ("body_id", "number"));

create table "changes" ("extent" bigint not null, "index" int not null, "version" bigint not null, "body" text null, primary key ("extent", "index"));

create table "change_references" ("team_id" uuid not null, "file" text collate "C" not null, "extent" bigint not null, "index" int not null, primary key ("team_id", "file", "extent", "index"));
create index "change_references_extent_index_index" on "change_references" ("extent", "index");

create table "chunk_blocks" ("chunk" bigint not null, "number" int not null, "stash" bigint null, "serial" text collate "C" not null, "numeric_order" text collate "C" null, "segment" bigint null, "rows" int not null, "profiled_columns" int not null, "profile" text not null, "ids" bytea null, primary key ("chunk", "number"));
create index "chunk_blocks_stash_serial_number_index" on "chunk_blocks" ("stash", "serial", "number");
create index "chunk_blocks_stash_numeric_order_serial_number_index" on "chunk_blocks" ("stash", "numeric_order", "serial", "number");
create index "chunk_blocks_segment_index" on "chunk_blocks" ("segment");

create table "ended_keys" ("table_id" uuid not null, "since" bigint not null, primary key ("table_id", "since"));

create table "extents" ("key" bigint not null, "table_id" uuid not null, "version" bigint not null, "ordinal" int not null, "generation" bigint not null, "schema_version" bigint not null, "wrap" boolean not null, "rule" int not null, "presented" bigint null, "cells" boolean not null, "merged" boolean not null default false, "retained" bytea null, "segment" bigint not null, "first" int not null, "rows" int not null, "bytes" int not null, "changed" boolean not null, "deleted" int not null, "erased" bigint not null default '0', "erase_at" timestamptz not null default now() + interval '21600000 ms', primary key ("key"));
create index "extents_segment_index" on "extents" ("segment");
alter table "extents" add constraint "extents_table_id_version_ordinal_unique" unique ("table_id", "version", "ordinal");

create table "file_references" ("team_id" uuid not null, "file" text collate "C" not null, "segment" bigint not null, "index" int not null, primary key ("team_id", "file", "segment", "index"));
create index "file_references_segment_index_index" on "file_references" ("segment", "index");

create table "generations" ("table_id" uuid not null, "version" bigint not null, "ended" bigint not null, "ended_at" bigint not null, "schema_version" bigint not null, "widened" bigint not null, "expired" boolean not null default false, "cleared" boolean not null default false, primary key ("table_id", "version"));

create table "issued_ids" ("table_id" uuid not null, "version" bigint not null, "ordinal" int not null, "last_version" bigint not null, "last_ordinal" int not null, "versions" int8[] not null, "ordinals" int4[] not null, "rows" int4[] not null, "retained" bytea[] not null, primary key ("table_id", "version", "ordinal"));

create table "key_preparations" ("table_id" uuid not null, "since" bigint not null, "columns" text not null, "version" bigint null, "is_taken" boolean not null default false, "touched_at" timestamptz not null default now(), primary key ("table_id", "since"));

create table "open_bodies" ("body_id" uuid not null, "team_id" uuid not null, "opened_at" bigint not null, primary key ("body_id"));
create index "open_bodies_opened_at_index" on "open_bodies" ("opened_at");

create table "outcomes" ("partition" smallint not null, "command_id" uuid not null, "log_offset" bigint not null, "time" bigint not null, "etag" bigint null, "detail" text null, "request_digest" text null, "replaced_time" bigint null, primary key ("partition", "command_id"));

create table "prepared_places" ("table_id" uuid not null, "since" bigint not null, "extent" bigint not null, "first" int not null, "hashes" bytea not null, primary key ("table_id", "since", "extent", "first"));

create table "progress" ("partition" smallint not null, "next" bigint not null, "epoch" bigint not null, "log_id" uuid null, "base" bigint not null, "gaps" text not null default '[]', "layout" bigint not null default '0', "last_hash" bytea null, "time" bigint not null, "halted" text null, "contradicted" boolean not null default false, "failed_at" bigint null, "failure" text null, "held" text not null default '{}', "caught_up" boolean not null default false, primary key ("partition"));

create table "quarantines" ("partition" smallint not null, "team_id" uuid not null, "failed_offset" bigint not null, "reason" text not null, "since" bigint not null, "next" bigint not null, "time" bigint not null, "base" bigint not null, "gaps" text not null, primary key ("partition", "team_id"));

create table "retained_ids" ("segment" bigint not null, "index" int not null, "id" text collate "C" not null, primary key ("segment", "index"));
create index "retained_ids_id_index" on "retained_ids" ("id");

create table "row_keys" ("table_id" uuid not null, "since" bigint not null, "hash" uuid not null, "extent" bigint not null, "index" int not null, primary key ("table_id", "since", "hash"));

create table "segments" ("key" bigint not null, "id" uuid null, "rows" int not null, "idle_since" timestamptz null default now(), "emptied" boolean not null default false, "dropped" boolean not null default false, primary key ("key"));
alter table "segments" add constraint "segments_id_unique" unique ("id");

create table "segment_rows" ("segment" bigint not null, "index" int not null, "version" bigint null, "body" text not null, primary key ("segment", "index"));

create table "stashes" ("key" bigint not null, "team_id" uuid not null, "stash_id" text collate "C" not null, "created" bigint not null, "created_at" bigint not null, "expires_at" bigint not null, "chunks" int not null, "rows" int not null, "profiled_columns" int not null, "words" int not null, "ended_at" bigint null, "cleared" boolean not null default false, primary key ("key"));
create index "stashes_team_id_stash_id_created_index" on "stashes" ("team_id", "stash_id", "created");

create table "tables" ("id" uuid not null, "team_id" uuid not null, "name" text not null, "created" bigint not null, "created_at" bigint not null, "version" bigint not null, "generation" bigint not null, "schema_version" bigint not null, "widened" bigint not null, "rows" bigint not null, "row_bytes_max" int not null, "tail" bigint null, "deleted" boolean not null, "retains_ids" boolean not null, "key_columns" text null, "key_since" bigint null, "forgotten" boolean not null default false, primary key ("id"));

create table "table_schemas" ("table_id" uuid not null, "version" bigint not null, "columns" text not null, "look_at" timestamptz not null default now() + interval '6 hours', "superseded" boolean not null default false, primary key ("table_id", "version"));

create table "teams" ("id" uuid not null, "partition" smallint not null, "name" text not null, "created" bigint not null, "suspended" boolean not null, "rows" bigint not null, "rows_max" bigint null, "tables" bigint not null, "tables_max" bigint null, "stashes" bigint not null, "stashes_max" bigint null, "open_bodies" bigint not null, "open_bodies_max" bigint null, "open_uploads" bigint not null, "open_uploads_max" bigint null, "open_upload_bytes" bigint not null, "open_upload_bytes_max" bigint null, "upload_bytes" bigint not null, "upload_bytes_max" bigint null, "log_bytes_per_day_max" bigint null, primary key ("id"));

create table "tokens" ("id" uuid not null, "team_id" uuid not null, "hash" bytea not null, "name" text not null, "created" bigint not null, "created_at" bigint not null, "ends_in" text null, "expires_at" bigint null, "read_only" boolean not null, "app_id" text null, "revoked" boolean not null, primary key ("id"));
alter table "tokens" add constraint "tokens_hash_unique" unique ("hash");

create table "uploads" ("id" uuid not null, "team_id" uuid not null, "app_id" text not null, "content_type" text not null, "file_name" text not null, "created" bigint not null, "created_at" bigint not null, "expires_at" bigint not null, "size_max" bigint not null, "unclaimed_life_ms" bigint not null, "file" text collate "C" null, "size" bigint null, "unclaimed_since" bigint null, "removed_at" bigint null, "cleared" boolean not null default false, primary key ("id"));
alter table "uploads" add constraint "uploads_file_unique" unique ("file");


alter table progress set (fillfactor = 50);
create index outcomes_by_time on outcomes (time);
create sequence local_keys increment by 1000;
create index body_blocks_by_time on body_blocks (time);
create index body_blocks_of_segments on body_blocks (segment);
create index segments_dropped on segments (key) where dropped;
create index segments_idle on segments (idle_since) where not emptied;
create index stashes_to_clear on stashes (key) where ended_at is not null and not cleared;
create index stashes_to_forget on stashes (ended_at) where cleared;
create index stashes_to_expire on stashes (expires_at) where ended_at is null;
create index chunk_blocks_replaced on chunk_blocks (chunk) where stash is null;
alter table tables set (fillfactor = 50);
alter table changes set (fillfactor = 85);
alter table extents set (fillfactor = 85);
create index tables_listed on tables (team_id, created, id) where not deleted;
create index extents_received on extents (table_id) where presented is null;
create index extents_presented on extents (table_id, presented, version) where presented is not null;
create index tables_widened on tables (id) where widened > 0;
create index extents_small on extents (table_id, version, ordinal) where not merged and bytes < 65536;
create index tables_forgotten on tables (id) where forgotten;
create index extents_to_erase on extents (erase_at) where changed;
create index table_schemas_to_look_at on table_schemas (look_at);
create index key_preparations_by_time on key_preparations (is_taken, touched_at);
alter table prepared_places alter column hashes set storage external;
create index generations_shown on generations (ended_at) where not expired;
create index generations_to_clear on generations (table_id, version) where expired and not cleared;
create index generations_to_forget on generations (ended_at, version) where cleared;
create index uploads_listed on uploads (team_id, created, id);
create index uploads_listed_of_apps on uploads (team_id, app_id, created, id);
create index uploads_to_expire on uploads (expires_at) where file is null and removed_at is null;
create index uploads_unclaimed on uploads ((unclaimed_since + unclaimed_life_ms)) where removed_at is null;
create index uploads_with_files on uploads (id) where file is not null and removed_at is null;
create index uploads_to_clear on uploads (id) where removed_at is not null and not cleared;

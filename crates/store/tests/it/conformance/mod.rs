//! One suite of facts that every store passes, and a random comparison of one with another.
//!
//! A new backend implements [`Backend`] and gets a line in [`facts`].

pub(crate) mod backends;
mod cells;
pub(crate) mod cluster;
mod commits;
mod crashes;
mod deletion;
mod entities;
mod faults;
mod history;
mod leases;
pub(crate) mod lists;
mod model;
mod queues;
mod records;
mod reopening;
mod replaced_cells;
mod runs;
mod schedule_logs;
mod schedules;
mod strings;
mod wakes;

use backends::{Backend, Memory, Postgres, SqliteFile, SqliteMemory, Wrapped};

/// Makes a test of each fact for each backend.
macro_rules! facts {
    ($($module:ident: $($fact:ident)*;)*) => {
        facts!(@of memory Memory; $($($module $fact)*)*);
        facts!(@of wrapped Wrapped; $($($module $fact)*)*);
        facts!(@of sqlite_file SqliteFile; $($($module $fact)*)*);
        facts!(@of sqlite_in_memory SqliteMemory; $($($module $fact)*)*);
        facts!(@of postgres Postgres; $($($module $fact)*)*);
    };
    (@of $backend:ident $type:ident; $($module:ident $fact:ident)*) => {
        mod $backend {
            use super::{Backend, $type};
            $(
                #[test]
                fn $fact() {
                    super::$module::$fact($type::fresh().store());
                }
            )*
        }
    };
}

/// Makes a test of each fact for each backend that several nodes may share.
macro_rules! facts_of_shared_stores {
    ($($module:ident: $($fact:ident)*;)*) => {
        facts!(@of shared_memory Memory; $($($module $fact)*)*);
        facts!(@of shared_wrapped Wrapped; $($($module $fact)*)*);
        facts!(@of shared_postgres Postgres; $($($module $fact)*)*);
    };
}

facts_of_shared_stores! {
    cluster:
        view_shows_nodes_by_id_with_their_leases_and_all_cells
        renewal_replaces_what_a_node_registered_before
        node_without_a_storable_id_is_refused
        owned_cell_is_not_taken_while_its_owners_lease_runs
        cell_of_a_node_whose_lease_has_ended_is_taken
        cell_of_an_owner_that_isnt_registered_is_taken
        node_without_a_running_lease_takes_nothing
        owner_takes_its_own_cell_again_under_a_new_epoch
        cell_that_isnt_there_is_not_taken
        released_cell_is_free_and_keeps_its_last_batch
        cell_is_released_only_under_its_epoch
        batch_of_a_replaced_owner_is_fenced
        removed_node_leaves_its_cells_free
        two_nodes_that_take_a_cell_at_once_get_it_once;
    replaced_cells:
        split_cells_get_epochs_that_were_never_used
        merge_fences_the_owners_before
        cells_of_another_epoch_are_not_replaced
        cells_with_other_slots_are_refused
        cells_are_given_in_any_order;
}

facts! {
    leases:
        epoch_of_a_new_lease_is_above_all_others
        batch_of_an_earlier_epoch_is_fenced
        batch_of_an_epoch_never_given_is_fenced
        cell_that_was_never_leased_is_fenced
        sequence_begins_anew_with_each_lease
        lease_says_what_the_owner_before_wrote_last
        sequence_that_doesnt_follow_is_refused
        cells_count_for_themselves;
    cells:
        fresh_store_has_one_cell_with_every_slot
        cell_shows_its_owner_and_its_last_batch
        unknown_cell_isnt_leased
        divide_replaces_the_cells_and_moves_no_rows
        divide_fences_every_earlier_owner
        divide_gives_epochs_that_were_never_used
        divide_refuses_ranges_that_dont_cover_every_slot_once;
    commits:
        commit_of_nothing_is_good
        batches_of_one_commit_follow_each_other
        refused_batch_takes_the_others_of_its_commit_with_it
        refused_write_leaves_no_trace_of_those_before_it
        store_goes_on_after_a_refused_batch
        last_write_to_a_key_wins;
    entities:
        keys_find_runs_and_schedules
        workflow_and_schedule_of_one_id_are_apart
        schedule_is_not_found_by_a_run_id
        several_are_loaded_in_the_order_asked_for;
    runs:
        new_run_is_loaded_whole
        unknown_names_load_nothing
        run_is_found_only_under_its_own_names
        head_changes_alone
        parts_come_in_the_order_of_their_keys
        parts_are_replaced_and_removed
        current_run_is_the_one_that_became_it_last
        earlier_run_becomes_current_again
        run_needs_a_uuid_a_head_and_a_first_event
        run_is_created_once
        run_id_is_used_once
        write_to_an_unknown_run_is_refused
        reset_run_begins_in_its_ancestors_branch
        first_branch_must_be_an_ancestor;
    deletion:
        deleted_run_is_gone_with_all_its_rows
        damaged_run_is_gone_when_it_is_deleted
        unknown_run_is_deleted_without_complaint
        run_is_not_deleted_and_written_at_once
        deleting_an_earlier_run_leaves_the_current_one
        names_of_a_deleted_run_are_free_again
        history_stays_while_a_run_goes_on_from_it
        history_goes_with_the_last_run_that_needs_it
        own_history_of_a_reset_run_goes_with_it;
    history:
        range_gives_the_fragments_that_hold_its_events
        fragments_come_in_reverse_from_the_end
        bytes_bound_the_fragments_but_one_always_comes
        empty_and_foreign_ranges_hold_nothing
        event_is_added_once
        fragment_must_be_a_range;
    wakes:
        wakes_come_by_time_then_by_run
        wakes_are_paged_without_loss_or_repetition
        wake_is_moved_kept_and_removed
        times_before_the_epoch_wake_too
        runs_and_schedules_wake_in_one_order
        page_of_wakes_ends_between_a_run_and_a_schedule_of_one_instant
        wake_of_a_schedule_is_moved_kept_and_removed
        wakes_of_other_slots_are_left_out;
    schedules:
        new_schedule_is_loaded_whole
        parts_of_a_schedule_come_in_the_order_of_their_keys
        parts_of_a_schedule_are_replaced_and_removed
        latest_incarnation_of_a_schedule_wins
        earlier_incarnation_is_the_latest_again_when_the_later_one_goes
        schedules_are_loaded_in_the_order_asked_for
        schedule_is_found_only_under_its_own_names
        schedule_needs_a_head
        schedule_is_created_once
        write_to_an_unknown_schedule_is_refused
        schedule_is_listed_beside_runs_under_its_own_key
        deleted_schedule_is_gone_with_all_its_rows
        unknown_schedule_is_deleted_without_complaint
        schedule_is_not_deleted_and_written_at_once
        refused_write_leaves_schedules_as_they_were;
    schedule_logs:
        lines_come_in_the_order_of_their_positions
        lines_are_read_by_range
        lines_are_limited_from_either_end
        line_of_the_same_position_is_replaced
        logs_and_schedules_have_their_own_lines;
    queues:
        tasks_are_paged_in_the_order_of_their_keys
        tasks_are_replaced_and_removed
        messages_are_paged_in_the_order_of_their_keys
        messages_are_replaced_and_removed
        tasks_of_other_slots_are_left_out
        messages_of_other_slots_are_left_out
        unknown_tasks_and_messages_are_removed_without_complaint;
    records:
        records_are_kept_by_kind_and_key
        records_are_paged_within_a_prefix
        record_without_a_key_is_refused;
    lists:
        list_shows_a_run_as_it_was_written_last
        list_gives_whole_microseconds
        list_is_paged_without_loss_or_repetition
        count_is_whole_and_split
        namespaces_dont_see_each_others_runs
        deleted_run_leaves_the_lists
        refused_batch_leaves_the_lists_as_they_were
        run_is_listed_under_its_own_key
        run_that_was_never_shown_is_not_listed;
    strings:
        any_string_is_a_workflow_id
        any_string_is_a_schedule_id
        any_string_asks_for_a_run_without_harm
        any_string_names_a_part_and_a_record
        any_bytes_are_a_value
        text_with_a_null_character_is_refused_and_never_found;
}

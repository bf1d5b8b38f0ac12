"""The last migrations of each release, and of the code that first called itself by its version."""

RELEASES = {
    "0.1.0": {"annotation": "0009_slots_and_assignments_are_found_sooner", "judging": "0006_generation_runs"},
    "0.2.0 at first": {
        "annotation": "0014_further_kinds_of_channels",
        "judging": "0007_tasks_are_queued_under_their_rooms",
    },
    "0.2.0": {"annotation": "0018_render_math", "judging": "0008_plainer_field_help"},
}

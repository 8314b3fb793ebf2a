"""The prompts that are published, by name, in the order of the list. A file that is not named here is nobody's to ask for."""

PUBLISHED = (
    "read_an_attested_answer",
    "draft_from_the_record",
    "review_a_draft",
    "check_authorities",
    "candor_to_the_tribunal",
    "protect_privilege",
    "compute_a_deadline",
    "propose_an_action",
)

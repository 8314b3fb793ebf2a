"""Who pays, tool by tool: written down here, derived from nothing, for the whole target surface. A tool that is not here fails."""

from __future__ import annotations

FIRM_CREDENTIAL = frozenset({"retrieve", "get_document", "search_firm_work_product"})
_FREE = {
    "client": "ask_client_model",
    "matter": "list_matters get_matter get_matter_brief get_matter_timeline list_parties list_counsel get_matter_team list_claims "
    "get_conflict_check_status get_screen_status get_data_freshness get_substrate_contract",
    "graph": "search_entities get_entity list_relationships get_entity_neighborhood get_entity_mentions find_entity_paths "
    "get_kg_provenance list_kg_conflicts get_entity_merge_history",
    "docket": "list_docket_entries get_docket_entry list_orders list_motions list_hearings list_service_events list_deadlines get_deadline "
    "compute_deadline get_governing_rules list_tasks get_task_item list_agent_proposals get_proposal_status",
    "facts": "get_fact_record get_fact_provenance list_stipulations list_admissions list_fact_conflicts get_chronology get_element_gaps "
    "get_claim_matrix",
    "documents": "list_documents get_document_metadata get_document_family get_document_versions get_passage resolve_bates "
    "list_transcripts get_transcript_excerpt list_exhibits get_chain_of_custody search_documents search_transcripts search_docket",
    "discovery": "get_validation_runs get_production_service_receipts get_redaction_receipts get_inbound_import_receipts list_productions "
    "get_production_manifest list_discovery_requests list_discovery_responses get_privilege_log list_clawbacks list_custodians "
    "list_litigation_holds get_hold_acknowledgements list_data_sources get_esi_protocol get_protective_order_terms get_review_progress "
    "list_meet_and_confers",
    "trial": "get_deposition_designations list_depositions list_errata get_trial_objections list_witnesses list_experts "
    "get_pretrial_disclosures",
    "drafting": "verify_record_cites verify_quote extract_citations get_cite_audit_findings list_authorities list_drafts "
    "get_filing_checklist",
    "accuracy": "get_calibration_ledger get_matter_outcomes verify_ledger_chain get_settlement_history get_budget_status",
    "proposals": "propose_action",
}
FREE = frozenset(name for names in _FREE.values() for name in names.split())

SELECT record.lane_note(:lane::text) AS note

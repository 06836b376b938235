package lead

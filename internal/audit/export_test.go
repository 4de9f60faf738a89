package audit

// AuditTogether is Together for crawls that are in no directory.
var AuditTogether = together
